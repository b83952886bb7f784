// The S3 exchange against servers that answer as they are told to: what it sends, what it repeats, and what
// it says.
#include <gtest/gtest.h>

#include <optional>

#include "aws/http_server_stub.h"
#include "aws/machine.h"
#include "sync/exchange.h"
#include "sync/s3/words.h"
#include "wire/sigv4.h"

namespace weir::sync {
namespace {

using tests::Answer;
using tests::Asked;
using tests::HttpServerStub;

Answer refusal(int status, const std::string& code, const std::string& message = "no",
               const std::string& more = "") {
  return {.status = status,
          .body = "<?xml version=\"1.0\"?>\n<Error><Code>" + code + "</Code><Message>" + message +
                  "</Message>" + more + "</Error>"};
}

/// One object, with the conditions of S3. Its tags count its versions.
class OneObject {
 public:
  Answer answer(const Asked& asked) {
    if (asked.method == "GET") {
      if (!bytes) return refusal(404, "NoSuchKey");
      return {.body = *bytes, .fields = "ETag: " + tag() + "\r\n"};
    }
    const auto match = asked.fields.find("if-match");
    const auto none = asked.fields.find("if-none-match");
    EXPECT_NE(match == asked.fields.end(), none == asked.fields.end());
    if (match != asked.fields.end() && !bytes) return refusal(404, "NoSuchKey");
    if (bytes ? match == asked.fields.end() || match->second != tag() : none == asked.fields.end())
      return refusal(412, "PreconditionFailed");
    store(asked.body);
    return {.fields = "ETag: " + tag() + "\r\n"};
  }
  void store(const std::string& text) {
    bytes = text;
    ++version;
  }
  std::string tag() const { return "\"v" + std::to_string(version) + "\""; }

  std::optional<std::string> bytes;
  int version = 0;
};

class S3Exchange : public testing::Test {
 protected:
  /// `answer` is called for each request; nothing: the object answers.
  void serve(std::function<std::optional<Answer>(const Asked&)> answer = {}) {
    site_.emplace([this, answer](const Asked& asked) {
      if (answer) {
        if (auto told = answer(asked)) return *told;
      }
      return object_.answer(asked);
    });
    auto opened =
        open_s3("s3://weir/pre%20fix?endpoint=" + site_->url() + parameters_, machine_.environment());
    ASSERT_TRUE(opened) << opened.error().message;
    exchange_ = *std::move(opened);
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const Asked& asked : site_->asked()) all.push_back(asked.method);
    return all;
  }
  std::string publish(const std::string& bytes, const std::string& expected = "") {
    auto tag = exchange_->publish("eu", bytes, expected);
    if (tag) return *tag;
    code_ = tag.error().code;
    return tag.error().message;
  }

  tests::Machine machine_{
      .variables = {{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"}, {"AWS_SECRET_ACCESS_KEY", "hush"}}, .files = {}};
  std::string parameters_ = "&deadline_ms=20000";
  OneObject object_;
  std::optional<HttpServerStub> site_;
  std::unique_ptr<Exchange> exchange_;
  ErrorCode code_ = ErrorCode::invalid_argument;
};

TEST_F(S3Exchange, SendsConditionsUnderItsSignature) {
  machine_.variables["AWS_SESSION_TOKEN"] = "token";
  serve();
  EXPECT_EQ(publish("one"), "\"v1\"");
  EXPECT_EQ(publish("two", "\"v1\""), "\"v2\"");
  const auto read = exchange_->read("eu");
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->bytes, "two");
  EXPECT_EQ((*read)->tag, "\"v2\"");
  const auto asked = site_->asked();
  ASSERT_EQ(asked.size(), 3U);
  for (const Asked& one : asked) {
    EXPECT_EQ(one.target, "/weir/pre%20fix/eu/snapshot.json");
    EXPECT_EQ(one.fields.at("x-amz-content-sha256"), wire::aws::sha256_hex(one.body));
    EXPECT_EQ(one.fields.at("x-amz-security-token"), "token");
  }
  EXPECT_EQ(asked[0].fields.at("if-none-match"), "*");
  EXPECT_EQ(asked[1].fields.at("if-match"), "\"v1\"");
  expect_words(
      asked[1].fields.at("authorization"),
      {"AKIDEXAMPLE", "/us-east-1/s3/aws4_request",
       "SignedHeaders=content-type;host;if-match;x-amz-content-sha256;x-amz-date;x-amz-security-token,"});
}

TEST_F(S3Exchange, TellsOfAnotherProcess) {
  serve();
  object_.store("foreign");
  for (const char* const expected : {"", "\"v0\""}) {
    expect_words(publish("mine", expected), {"another process publishes for region \"eu\""});
    EXPECT_EQ(code_, ErrorCode::conflict);
  }
  object_.bytes.reset();
  expect_words(publish("mine", "\"v1\""), {"another process"});
  EXPECT_EQ(code_, ErrorCode::conflict);
  EXPECT_EQ(methods(), (std::vector<std::string>{"PUT", "PUT", "PUT"}));
}

TEST_F(S3Exchange, TakesAConflictOfWritesForAnotherProcess) {
  serve([](const Asked&) { return refusal(409, "ConditionalRequestConflict"); });
  expect_words(publish("mine"), {"another process"});
  EXPECT_EQ(code_, ErrorCode::conflict);
}

TEST_F(S3Exchange, SaysWhenConditionsAreNotKnown) {
  serve([](const Asked&) {
    return refusal(501, "NotImplemented", "A header you provided implies functionality");
  });
  expect_words(publish("mine"), {"does not know conditional writes", "501 NotImplemented", "If-None-Match"});
  EXPECT_EQ(code_, ErrorCode::unavailable);
  EXPECT_EQ(methods().size(), 1U);
}

TEST_F(S3Exchange, FindsThatAWriteInDoubtWasCarriedOut) {
  serve([this](const Asked& asked) -> std::optional<Answer> {
    if (asked.method == "GET") return std::nullopt;
    object_.answer(asked);
    return refusal(500, "InternalError");
  });
  EXPECT_EQ(publish("one"), "\"v1\"");
  EXPECT_EQ(methods(), (std::vector<std::string>{"PUT", "GET"}));
}

TEST_F(S3Exchange, RepeatsAWriteInDoubtThatWasNotCarriedOut) {
  int failures = 1;
  serve([&](const Asked&) -> std::optional<Answer> {
    if (failures-- > 0) return refusal(500, "InternalError");
    return std::nullopt;
  });
  EXPECT_EQ(publish("one"), "\"v1\"");
  EXPECT_EQ(methods(), (std::vector<std::string>{"PUT", "GET", "PUT"}));
}

TEST_F(S3Exchange, FindsAnotherProcessAfterAWriteInDoubt) {
  serve([this](const Asked& asked) -> std::optional<Answer> {
    if (asked.method == "GET") return std::nullopt;
    object_.store("foreign");
    return refusal(503, "ServiceUnavailable");
  });
  expect_words(publish("one"), {"another process"});
  EXPECT_EQ(code_, ErrorCode::conflict);
}

TEST_F(S3Exchange, ReplacesItsOwnWriteWhoseOutcomeItDidNotKnow) {
  bool down = true;
  serve([&](const Asked& asked) -> std::optional<Answer> {
    if (!down) return std::nullopt;
    if (asked.method == "PUT") object_.answer(asked);
    return refusal(500, "InternalError");
  });
  expect_words(publish("one"), {"500 InternalError"});
  EXPECT_EQ(code_, ErrorCode::outcome_unknown);
  down = false;
  // The caller does not know the tag of "one".
  EXPECT_EQ(publish("two"), "\"v2\"");
  EXPECT_EQ(object_.bytes, "two");
  // From here on nothing is in doubt.
  object_.store("one");
  expect_words(publish("three", "\"v2\""), {"another process"});
}

TEST_F(S3Exchange, RepeatsReadsAndWhatWasNotCarriedOut) {
  int failures = 2;
  serve([&](const Asked& asked) -> std::optional<Answer> {
    if (failures-- > 0) return refusal(503, asked.method == "PUT" ? "SlowDown" : "InternalError");
    return std::nullopt;
  });
  EXPECT_EQ(publish("one"), "\"v1\"");
  EXPECT_EQ(methods(), (std::vector<std::string>{"PUT", "PUT", "PUT"}));
  failures = 2;
  EXPECT_EQ((*exchange_->read("eu"))->bytes, "one");
  failures = 100;
  const auto read = exchange_->read("eu");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::unavailable);
  expect_words(read.error().message, {"503 InternalError"});
}

TEST_F(S3Exchange, TakesOnlyAWordOfS3ForNothing) {
  Answer told = refusal(404, "NoSuchKey");
  serve([&](const Asked&) { return told; });
  const auto nothing = exchange_->read("eu");
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
  for (const Answer& other : {Answer{.status = 404, .body = "<html>Not Found</html>"}, Answer{.status = 404},
                              Answer{.status = 200, .body = "no tag"}, refusal(404, "NoSuchBucket")}) {
    told = other;
    EXPECT_FALSE(exchange_->read("eu")) << other.body;
  }
}

TEST_F(S3Exchange, ShowsNoMoreOfAnAnswerThanALine) {
  serve([](const Asked&) {
    return refusal(400, "Bad\x1b[31m" + std::string(1000, 'x'), "first\nsecond" + std::string(100'000, 'y'));
  });
  const auto read = exchange_->read("eu");
  ASSERT_FALSE(read);
  expect_words(read.error().message, {"400", "Bad?[31m", "first?second"});
  EXPECT_LT(read.error().message.size(), 300U);
  EXPECT_EQ(read.error().message.find_first_of("\n\x1b"), std::string::npos);
}

TEST_F(S3Exchange, SaysWhatToDoAboutRights) {
  Answer told = refusal(403, "AccessDenied", "Access Denied");
  serve([&](const Asked&) { return told; });
  const auto said = [&] { return exchange_->read("eu").error().message; };
  expect_words(said(), {"403 AccessDenied", "s3:GetObject", "s3:ListBucket"});
  told = refusal(403, "SignatureDoesNotMatch", "no", "<AWSAccessKeyId>AKIDEXAMPLE</AWSAccessKeyId>");
  expect_words(said(), {"does not accept the credentials", "AWS_SECRET_ACCESS_KEY"});
  EXPECT_EQ(said().find("AKIDEXAMPLE"), std::string::npos);
  EXPECT_EQ(said().find("hush"), std::string::npos);
  told = refusal(400, "AuthorizationHeaderMalformed", "wrong", "<Region>eu-west-3</Region>");
  expect_words(said(), {"another region", "\"eu-west-3\"", "region=..."});
  told = refusal(301, "PermanentRedirect", "elsewhere");
  expect_words(said(), {"another region", "region=..."});
}

TEST_F(S3Exchange, SignsWithTheTimeOfTheServer) {
  serve([](const Asked& asked) -> std::optional<Answer> {
    if (asked.fields.at("x-amz-date").starts_with("20400102T0304")) return std::nullopt;
    return refusal(403, "RequestTimeTooSkewed", "no", "<ServerTime>2040-01-02T03:04:05Z</ServerTime>");
  });
  EXPECT_EQ(publish("one"), "\"v1\"");
  EXPECT_EQ(methods().size(), 2U);
}

TEST_F(S3Exchange, SaysWhenNobodyListens) {
  auto opened = open_s3("s3://weir?endpoint=http://127.0.0.1:1", machine_.environment());
  ASSERT_TRUE(opened);
  const auto read = (*opened)->read("eu");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::unavailable);
  expect_words(read.error().message, {"S3 at 127.0.0.1:1 is unavailable"});
  // Nothing was sent, so nothing is in doubt.
  const auto published = (*opened)->publish("eu", "one", "");
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weir::sync

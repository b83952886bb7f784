// The S3 exchange against a whole S3 server, which checks signatures, rights and conditions.
#include "support/s3_server.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "aws/machine.h"
#include "sync/exchange.h"
#include "sync/s3/words.h"

namespace weir::sync {
namespace {

using Keys = tests::S3Server::Keys;

tests::S3Server& server() {
  static tests::S3Server shared;
  return shared;
}

/// An exchange, and the variables that it was opened with.
class Opened {
 public:
  explicit Opened(const std::string& url, const Keys& keys = server().writer)
      : machine_{.variables = {{"AWS_ACCESS_KEY_ID", keys.id}, {"AWS_SECRET_ACCESS_KEY", keys.secret}},
                 .files = {}} {
    auto opened = open_s3(url, machine_.environment());
    if (!opened) throw std::runtime_error(opened.error().message);
    exchange_ = *std::move(opened);
  }
  Exchange* operator->() { return exchange_.get(); }

 private:
  const tests::Machine machine_;
  std::unique_ptr<Exchange> exchange_;
};

/// A prefix that no other test has.
std::string prefix() {
  static int count = 0;
  return "weir/test-" + std::to_string(++count);
}

void expect_error(const Error& error, std::initializer_list<const char*> words,
                  ErrorCode code = ErrorCode::unavailable) {
  EXPECT_EQ(error.code, code) << error.message;
  expect_words(error.message, words);
  for (const Keys& keys : {server().writer, server().reader})
    EXPECT_EQ(error.message.find(keys.secret), std::string::npos) << error.message;
}

/// What an exchange does that works.
void publish_and_read(const std::string& url) {
  Opened exchange(url);
  auto nothing = exchange->read("eu");
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(*nothing);
  auto first = exchange->publish("eu", R"({"sequence":1})", "");
  ASSERT_TRUE(first) << first.error().message;
  auto second = exchange->publish("eu", R"({"sequence":2})", *first);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*first, *second);
  auto read = exchange->read("eu");
  ASSERT_TRUE(read && *read) << read.error().message;
  EXPECT_EQ((*read)->bytes, R"({"sequence":2})");
  EXPECT_EQ((*read)->tag, *second);
  EXPECT_FALSE(*exchange->read("us"));
  // Another process, with another exchange, goes on from there.
  Opened other(url);
  read = other->read("eu");
  ASSERT_TRUE(read && *read);
  EXPECT_TRUE(other->publish("eu", R"({"sequence":3})", (*read)->tag));
  auto late = exchange->publish("eu", R"({"sequence":3,"other":true})", *second);
  ASSERT_FALSE(late);
  expect_error(late.error(), {"another process publishes for region \"eu\""}, ErrorCode::conflict);
  late = exchange->publish("eu", "{}", "");
  ASSERT_FALSE(late);
  expect_error(late.error(), {"another process"}, ErrorCode::conflict);
}

TEST(S3Server, KeepsSnapshotsByPath) { publish_and_read(server().url(prefix())); }

TEST(S3Server, KeepsSnapshotsByHost) {
  publish_and_read("s3://" + prefix() +
                   "?style=host&endpoint=http://localhost:" + std::to_string(server().port()));
}

TEST(S3Server, SignsNamesThatMustBeEscaped) {
  for (const char* const name : {"a%20b", "a+b", "a%2Bb", "%C3%A9", "$", "&", "(a)", "=", "@", ":", ",", ";",
                                 "!", "'", "*", "%25", "~"}) {
    SCOPED_TRACE(name);
    publish_and_read(server().url(prefix() + "/" + name) + "&region=eu-central-1");
  }
}

TEST(S3Server, KeepsALargeSnapshot) {
  Opened exchange(server().url(prefix()));
  const std::string large(8'000'000, 'x');
  const auto tag = exchange->publish("eu", large, "");
  ASSERT_TRUE(tag) << tag.error().message;
  EXPECT_EQ((*exchange->read("eu"))->bytes, large);
}

TEST(S3Server, LetsOneOfTwoPublishersWin) {
  const std::string url = server().url(prefix());
  std::string expected;
  for (int round = 0; round < 25; ++round) {
    std::array<std::optional<Result<std::string>>, 2> results;
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
          Opened exchange(url);
          results[i] = exchange->publish("eu", std::to_string(round) + "by" + std::to_string(i), expected);
        });
      }
    }
    ASSERT_NE(results[0]->operator bool(), results[1]->operator bool()) << "round " << round;
    const std::size_t winner = *results[0] ? 0 : 1;
    expect_error(results[1 - winner]->error(), {"another process"}, ErrorCode::conflict);
    expected = **results[winner];
    EXPECT_EQ((*Opened(url)->read("eu"))->bytes, std::to_string(round) + "by" + std::to_string(winner));
  }
}

TEST(S3Server, RefusesOtherCredentials) {
  const std::string url = server().url(prefix());
  const auto said = [&](const Keys& keys) {
    auto read = Opened(url, keys)->read("eu");
    EXPECT_FALSE(read);
    return read ? Error{ErrorCode::invalid_argument, ""} : read.error();
  };
  expect_error(said({server().writer.id, "another secret"}),
               {"does not accept the credentials", "403 SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"});
  expect_error(said({"AKIAUNKNOWN", "secret"}),
               {"does not accept the credentials", "403 InvalidAccessKeyId"});
}

TEST(S3Server, SaysWhichRightIsMissing) {
  Opened reader(server().url(prefix()), server().reader);
  ASSERT_TRUE(reader->read("eu"));
  const auto published = reader->publish("eu", "{}", "");
  ASSERT_FALSE(published);
  expect_error(published.error(), {"does not allow PUT", "403 AccessDenied", "s3:PutObject"});
}

TEST(S3Server, SaysThatABucketIsMissing) {
  Opened exchange(server().url("weir-elsewhere/a"));
  const auto read = exchange->read("eu");
  ASSERT_FALSE(read);
  expect_error(read.error(), {"no bucket \"weir-elsewhere\"", "404 NoSuchBucket", "create it"});
  const auto published = exchange->publish("eu", "{}", "");
  ASSERT_FALSE(published);
  expect_error(published.error(), {"no bucket \"weir-elsewhere\""});
}

TEST(S3Server, ReadsNothingThatIsTooLarge) {
  const auto read = Opened(server().url("weir"))->read("large");
  ASSERT_FALSE(read);
  expect_error(read.error(), {"\"s3://weir/large/snapshot.json\" is larger than a snapshot can be"});
}

TEST(S3Server, IsGivenUpWhenItIsSlow) {
  const std::string url = server().url(prefix());
  Opened exchange(url + "&deadline_ms=700");
  auto tag = Opened(url)->publish("eu", "one", "");
  ASSERT_TRUE(tag);
  server().pause();
  const auto read = exchange->read("eu");
  const auto published = exchange->publish("eu", "two", *tag);
  server().resume();
  ASSERT_FALSE(read);
  expect_error(read.error(), {"is unavailable"});
  ASSERT_FALSE(published);
  expect_error(published.error(), {"may or may not have stored"}, ErrorCode::outcome_unknown);
  // The writer of "two" is this process, although the answer to its write was lost.
  const auto next = Opened(url)->read("eu");
  ASSERT_TRUE(next);
  const auto after = exchange->publish("eu", "three", *tag);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ((*Opened(url)->read("eu"))->bytes, "three");
}

}  // namespace
}  // namespace weir::sync

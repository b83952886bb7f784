// The client, against a server that answers as it is told to.
#include "aws/dynamo_client.h"

#include <gtest/gtest.h>

#include "aws/http_server_stub.h"
#include "aws/machine.h"

namespace weir::aws {
namespace {

using namespace std::chrono_literals;
using Kind = DynamoFailure::Kind;
using tests::Answer;

std::string error_text(const std::string& code) { return R"({"__type":"x#)" + code + R"(","message":"m"})"; }

/// Answers with each in turn, and with the last one from then on.
class DynamoClientTest : public testing::Test {
 protected:
  void answers(std::vector<Answer> told) {
    const std::scoped_lock lock(mutex_);
    told_ = std::move(told);
    next_ = 0;
  }
  std::unique_ptr<DynamoClient> client(DynamoOptions options = {}) {
    options.region = "us-east-1";
    options.endpoint = *parse_url(site.url());
    options.first_pause = 1ms;
    options.deadline = 60s;
    return *DynamoClient::start(
        options,
        std::make_unique<CredentialsKeeper>(Source(Credentials{"id", "secret", "token"}),
                                            tests::Machine().environment()),
        clock, entropy);
  }
  static Kind kind_of(const Asked& asked) {
    EXPECT_TRUE(asked.failure);
    return asked.failure ? asked.failure->kind : Kind::exists;
  }

  SystemClock clock;
  base::SystemEntropy entropy;
  std::mutex mutex_;
  std::vector<Answer> told_{{.body = "{}"}};
  std::size_t next_ = 0;
  tests::HttpServerStub site{[this](const tests::Asked&) {
    const std::scoped_lock lock(mutex_);
    return told_[std::min(next_++, told_.size() - 1)];
  }};
};

TEST_F(DynamoClientTest, SignsWhatItSends) {
  auto dynamo = client();
  EXPECT_TRUE(dynamo->ask("GetItem", R"({"TableName":"t"})", true).ok());
  const tests::Asked asked = site.asked().at(0);
  EXPECT_EQ(asked.method, "POST");
  EXPECT_EQ(asked.fields.at("x-amz-target"), "DynamoDB_20120810.GetItem");
  EXPECT_EQ(asked.fields.at("content-type"), "application/x-amz-json-1.0");
  EXPECT_EQ(asked.fields.at("x-amz-security-token"), "token");
  EXPECT_EQ(asked.body, R"({"TableName":"t"})");
  wire::aws::Signer signer({"us-east-1", "dynamodb"});
  EXPECT_NE(asked.fields.at("authorization").find("Credential=id/"), std::string::npos);
  EXPECT_NE(asked.fields.at("authorization")
                .find("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target,"),
            std::string::npos);
}

TEST_F(DynamoClientTest, SendsAgainWhatCertainlyDidNotHappen) {
  auto dynamo = client();
  for (const char* code : {"ThrottlingException", "ProvisionedThroughputExceededException",
                           "TransactionConflictException", "TransactionInProgressException"}) {
    answers({{400, error_text(code)}, {400, error_text(code)}, {200, "{}"}});
    EXPECT_TRUE(dynamo->ask("UpdateItem", "{}", false).ok()) << code;
  }
  EXPECT_EQ(site.asked().size(), 12U);
  EXPECT_EQ(dynamo->counts().repeated, 8U);
  EXPECT_EQ(dynamo->counts().throttled, 4U);
}

TEST_F(DynamoClientTest, NeverSendsAgainWhatMayHaveHappened) {
  auto dynamo = client();
  answers({{500, error_text("InternalServerError")}, {200, "{}"}});
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::unknown);
  EXPECT_EQ(site.asked().size(), 1U);
  answers({{200, "nonsense"}, {200, "{}"}});
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::unknown);
  EXPECT_EQ(site.asked().size(), 2U);
}

TEST_F(DynamoClientTest, SendsAgainWhatIsHarmlessTwice) {
  auto dynamo = client();
  answers({{500, error_text("InternalServerError")}, {200, "{}"}});
  EXPECT_TRUE(dynamo->ask("GetItem", "{}", true).ok());
  EXPECT_EQ(site.asked().size(), 2U);
}

TEST_F(DynamoClientTest, RemembersThatAnEarlierCopyMayHaveHappened) {
  auto dynamo = client();
  answers({{500, error_text("InternalServerError")}, {400, error_text("ValidationException")}});
  EXPECT_EQ(kind_of(dynamo->ask("TransactWriteItems", "{}", true)), Kind::unknown);
}

TEST_F(DynamoClientTest, DoesNotRepeatWhatWillNotDo) {
  auto dynamo = client();
  for (const char* code :
       {"ConditionalCheckFailedException", "ValidationException", "ResourceNotFoundException"}) {
    answers({{400, error_text(code)}, {200, "{}"}});
    EXPECT_FALSE(dynamo->ask("UpdateItem", "{}", true).ok());
  }
  EXPECT_EQ(site.asked().size(), 3U);
}

TEST_F(DynamoClientTest, GivesUpAfterSomeAttempts) {
  auto dynamo = client();
  answers({{400, error_text("ThrottlingException")}});
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::throttled);
  EXPECT_EQ(site.asked().size(), 6U);
}

TEST_F(DynamoClientTest, CountsWhatIsConsumed) {
  auto dynamo = client();
  answers({{200, R"({"ConsumedCapacity":{"CapacityUnits":1.0}})"}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(dynamo->ask("UpdateItem", "{}", false).ok());
  EXPECT_EQ(dynamo->counts().consumed, 3000U);
}

TEST_F(DynamoClientTest, SignsByTheServersTimeWhereTheyDiffer) {
  class Late final : public Clock {
   public:
    Time now() const override { return SystemClock().now() - 3'600'000; }
  } late;
  DynamoOptions options{.region = "us-east-1", .endpoint = *parse_url(site.url()), .deadline = 60s};
  auto dynamo = *DynamoClient::start(options,
                                     std::make_unique<CredentialsKeeper>(Source(Credentials{"id", "secret"}),
                                                                         tests::Machine().environment()),
                                     late, entropy);
  answers({{400, R"({"__type":"x#InvalidSignatureException","message":"Signature expired: then"})"},
           {200, "{}"}});
  EXPECT_TRUE(dynamo->ask("GetItem", "{}", true).ok());
  const auto asked = site.asked();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_NE(asked[0].fields.at("x-amz-date").substr(0, 11), asked[1].fields.at("x-amz-date").substr(0, 11));
  EXPECT_GT(dynamo->skew(), 3'500'000);
  EXPECT_LE(dynamo->skew(), 3'600'000);
}

TEST_F(DynamoClientTest, KnowsThatTheClocksAgree) {
  auto dynamo = client();
  EXPECT_TRUE(dynamo->ask("GetItem", "{}", true).ok());
  EXPECT_EQ(dynamo->skew(), 0);
}

TEST_F(DynamoClientTest, StopsAskingAServerThatIsAwayAndNoticesItsReturn) {
  DynamoOptions options;
  options.failures_until_open = 2;
  options.open_for = 1ms;
  options.probe_operation = "GetItem";
  auto dynamo = client(options);
  answers({{500, error_text("InternalServerError")}});
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::unknown);
  EXPECT_TRUE(dynamo->health());
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::unknown);
  EXPECT_FALSE(dynamo->health());
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false)), Kind::unavailable) << "not even sent";
  EXPECT_EQ(dynamo->counts().outages, 1U);
  answers({{200, "{}"}});
  while (!dynamo->health()) std::this_thread::yield();
  EXPECT_TRUE(dynamo->ask("UpdateItem", "{}", false).ok());
}

TEST_F(DynamoClientTest, SaysThatNothingWasSentWhereNobodyListens) {
  std::string url;
  {
    const tests::HttpServerStub gone([](const tests::Asked&) { return Answer{}; });
    url = gone.url();
  }
  DynamoOptions options{.region = "r", .endpoint = *parse_url(url), .deadline = 50ms};
  auto dynamo = *DynamoClient::start(options,
                                     std::make_unique<CredentialsKeeper>(Source(Credentials{"id", "secret"}),
                                                                         tests::Machine().environment()),
                                     clock, entropy);
  EXPECT_EQ(kind_of(dynamo->ask("UpdateItem", "{}", false, 50ms)), Kind::unavailable);
}

TEST_F(DynamoClientTest, EndsWithCallsOnTheirWay) {
  class Call final : public DynamoCall {
   public:
    explicit Call(std::atomic<int>& ended) : ended_(ended) {
      operation = "GetItem", request = "{}", repeatable = true;
    }
    void on_answer(const DynamoAnswer&) override { ++ended_; }
    void on_error(const DynamoFailure&) override { ++ended_; }

   private:
    std::atomic<int>& ended_;
  };
  std::atomic<int> ended{0};
  std::vector<std::unique_ptr<Call>> calls;
  answers({{400, error_text("ThrottlingException")}});
  {
    auto dynamo = client();
    for (int i = 0; i < 100; ++i) {
      calls.push_back(std::make_unique<Call>(ended));
      dynamo->send(*calls.back());
    }
  }
  EXPECT_EQ(ended, 100);
}

}  // namespace
}  // namespace weir::aws

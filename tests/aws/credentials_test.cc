// Credentials that have to be asked for, against services that answer as those of AWS do.
#include "aws/credentials.h"

#include <gtest/gtest.h>

#include <future>

#include "aws/http_server_stub.h"
#include "aws/machine.h"
#include "base/text.h"

namespace weir::aws {
namespace {

using tests::Answer;
using tests::Asked;
using tests::HttpServerStub;
using tests::Machine;

constexpr Time now = 1'800'000'000'000;

/// "2027-01-15T08:00:00Z" is `now`; so many minutes later.
std::string document(const std::string& id, int minutes) {
  const std::string at =
      base::join("2027-01-15T08:", minutes < 10 ? "0" : "", std::to_string(minutes), ":00Z");
  return base::join(R"({"Code":"Success","AccessKeyId":")", id,
                    R"(","SecretAccessKey":"s","Token":"t","Expiration":")", at, "\"}");
}

std::string get(CredentialsKeeper& keeper, Time at) {
  std::promise<Result<CredentialsKeeper::Shared>> promise;
  keeper.get(at, [&](Result<CredentialsKeeper::Shared> result) { promise.set_value(std::move(result)); });
  const auto result = promise.get_future().get();
  return result ? (*result)->access_key_id : "error: " + result.error().message;
}

Source source_of(const Machine& machine) { return **find_source(machine.environment()); }

TEST(Credentials, FromAContainerComeOnceAndAgainBeforeTheyExpire) {
  std::atomic<int> count{0};
  HttpServerStub site([&](const Asked& asked) {
    EXPECT_EQ(asked.target, "/creds");
    EXPECT_EQ(asked.fields.at("authorization"), "Bearer x");
    const int which = ++count;
    return Answer{.body = document("id" + std::to_string(which), 10 * which)};
  });
  Machine machine;
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", site.url() + "/creds"},
                       {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"}};
  machine.files["/token"] = "Bearer x\n";
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  EXPECT_EQ(get(keeper, now), "id1");
  EXPECT_EQ(get(keeper, now + 60'000), "id1");
  EXPECT_EQ(count, 1);
  // Within five minutes of their end new ones are got, and nobody waits for them.
  EXPECT_EQ(get(keeper, now + 6 * 60'000), "id1");
  while (get(keeper, now + 6 * 60'000) != "id2") std::this_thread::yield();
  EXPECT_EQ(count, 2);
  // Past their end everybody waits.
  EXPECT_EQ(get(keeper, now + 20 * 60'000), "id3");
}

TEST(Credentials, FromAnInstanceTakeATokenAndTheNameOfTheRole) {
  HttpServerStub site([](const Asked& asked) -> Answer {
    if (asked.method == "PUT" && asked.target == "/latest/api/token") {
      EXPECT_EQ(asked.fields.at("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
      return {.body = "TOKEN=="};
    }
    EXPECT_EQ(asked.fields.at("x-aws-ec2-metadata-token"), "TOKEN==");
    if (asked.target == "/latest/meta-data/iam/security-credentials/") return {.body = "my-role\n"};
    if (asked.target == "/latest/meta-data/iam/security-credentials/my-role")
      return {.body = document("imds", 59)};
    return {.status = 404};
  });
  Machine machine;
  machine.variables = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", site.url()}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  EXPECT_EQ(get(keeper, now), "imds");
  EXPECT_EQ(site.asked().size(), 3U);
}

TEST(Credentials, FromAnInstanceWithoutARoleSayWhatToDo) {
  HttpServerStub site([](const Asked& asked) -> Answer {
    if (asked.method == "PUT") return {.body = "T"};
    return {.status = 404};
  });
  Machine machine;
  machine.variables = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", site.url()}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  EXPECT_NE(get(keeper, now).find("give the instance a role"), std::string::npos);
}

TEST(Credentials, ThatAreNowhereNameWhereTheyWereLookedFor) {
  Machine machine;
  // No server listens on port 1.
  machine.variables = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1"}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  const std::string message = get(keeper, now);
  for (const char* part : {"no AWS credentials are found", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE",
                           "profile \"default\"", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                           "127.0.0.1 does not answer: Connection refused", "or AWS_PROFILE"})
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
}

TEST(Credentials, FromWebIdentityReadTheTokenEachTime) {
  std::atomic<int> count{0};
  HttpServerStub site([&](const Asked& asked) -> Answer {
    EXPECT_NE(asked.target.find(
                  "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&"
                  "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=weir&WebIdentityToken=jwt"),
              std::string::npos)
        << asked.target;
    ++count;
    return {.body = "<R><Credentials><AccessKeyId>sts" + std::to_string(count) +
                    "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                    "<Expiration>2027-01-15T08:10:00Z</Expiration></Credentials></R>"};
  });
  Machine machine;
  machine.files["/jwt"] = "jwt-a\n";
  const WebIdentity identity{"/jwt", "arn:aws:iam::1:role/r", "", "", *parse_url(site.url())};
  CredentialsKeeper keeper(Source(identity), machine.environment());
  EXPECT_EQ(get(keeper, now), "sts1");
  EXPECT_EQ(get(keeper, now + 11 * 60'000), "sts2");
}

TEST(Credentials, ThatAreRefusedAreGotAgain) {
  std::atomic<int> count{0};
  HttpServerStub site(
      [&](const Asked&) { return Answer{.body = document("id" + std::to_string(++count), 50)}; });
  Machine machine;
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", site.url()}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  CredentialsKeeper::Shared first;
  std::promise<void> done;
  keeper.get(now, [&](auto result) {
    first = *result;
    done.set_value();
  });
  done.get_future().get();
  keeper.distrust(first);
  keeper.distrust(nullptr);
  EXPECT_EQ(get(keeper, now), "id2");
}

TEST(Credentials, ThatCannotBeGotAreNotAskedForAtOnceAgain) {
  std::atomic<int> count{0};
  HttpServerStub site([&](const Asked&) { return ++count, Answer{.status = 500}; });
  Machine machine;
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", site.url()}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  EXPECT_NE(get(keeper, now).find("status 500"), std::string::npos);
  EXPECT_NE(get(keeper, now + 500).find("status 500"), std::string::npos);
  EXPECT_EQ(count, 1);
  EXPECT_NE(get(keeper, now + 2'000).find("status 500"), std::string::npos);
  EXPECT_EQ(count, 2);
}

TEST(Credentials, InTheEnvironmentNeedNobody) {
  Machine machine;
  machine.variables = {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  CredentialsKeeper keeper(source_of(machine), machine.environment());
  EXPECT_EQ(get(keeper, now), "id");
}

}  // namespace
}  // namespace weir::aws

// The same requests, signed by curl and by us.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "aws/credentials_source.h"
#include "aws/http_server_stub.h"
#include "base/text.h"
#include "wire/sigv4.h"

namespace weir::aws {
namespace {

/// "20150830T123600Z" as parse_moment() wants it.
Time moment_of(const std::string& text) {
  const auto part = [&](std::size_t at, std::size_t count) { return text.substr(at, count); };
  return *parse_moment(base::join(part(0, 4), "-", part(4, 2), "-", part(6, 2), "T", part(9, 2), ":",
                                  part(11, 2), ":", part(13, 2), "Z"));
}

/// Signs what curl has sent, with the fields that curl signed.
std::string signed_again(const tests::Asked& asked, const Credentials& credentials, wire::aws::Scope scope) {
  const std::string& by_curl = asked.fields.at("authorization");
  const std::size_t at = by_curl.find("SignedHeaders=") + 14;
  std::string names = by_curl.substr(at, by_curl.find(',', at) - at);
  wire::aws::UnsignedRequest request{.method = asked.method, .body = asked.body};
  const std::size_t question = asked.target.find('?');
  request.path = std::string_view(asked.target).substr(0, question);
  if (question != std::string::npos) request.query = std::string_view(asked.target).substr(question + 1);
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // These two are ours to add.
    if (name == "x-amz-date" || name == "x-amz-security-token") continue;
    const auto field = asked.fields.find(name);
    EXPECT_NE(field, asked.fields.end()) << name;
    request.fields.push_back({field->first, field->second});
  }
  wire::aws::Signer signer(std::move(scope));
  return signer.sign(request, credentials, moment_of(asked.fields.at("x-amz-date"))).authorization;
}

void compare(const std::string& options, const Credentials& credentials, const wire::aws::Scope& scope,
             const std::string& path = "/") {
  tests::HttpServerStub site([](const tests::Asked&) { return tests::Answer{}; });
  const std::string command =
      base::join("curl -sS --noproxy '*' --max-time 60 --aws-sigv4 aws:amz:", scope.region, ":",
                 scope.service, " --user '", credentials.access_key_id, ":", credentials.secret_access_key,
                 "' ", options, " '", site.url(), path, "'");
  // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): a test that has one thread so far
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto asked = site.asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(signed_again(asked[0], credentials, scope), asked[0].fields.at("authorization"));
}

const Credentials keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};

TEST(SigV4BesideCurl, SignsARequestToDynamoDBTheSame) {
  compare(
      "-H 'Content-Type: application/x-amz-json-1.0' -H 'X-Amz-Target: DynamoDB_20120810.GetItem' "
      "-d '{\"TableName\":\"weir\",\"Key\":{\"PK\":{\"S\":\"ENTITY#a\"},\"SK\":{\"S\":\"#META\"}}}'",
      keys, {"eu-central-1", "dynamodb"});
}

TEST(SigV4BesideCurl, SignsAnEmptyBodyTheSame) {
  compare("-X POST -H 'Content-Type: application/x-amz-json-1.0' -d ''", keys, {"us-east-1", "dynamodb"});
}

TEST(SigV4BesideCurl, SignsAParameterTheSame) {
  compare("", keys, {"us-east-1", "sts"}, "/?Action=GetCallerIdentity");
}

TEST(SigV4BesideCurl, SignsBytesBeyondAsciiTheSame) {
  compare("-H 'Content-Type: application/x-amz-json-1.0' -d '{\"a\":\"\xe2\x82\xac \xf0\x9f\x98\x80\"}'",
          {"AKID/+=", "a+secret/with=signs"}, {"ap-southeast-2", "dynamodb"});
}

}  // namespace
}  // namespace weir::aws

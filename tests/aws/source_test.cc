// Where credentials, the region and the endpoint are looked for.
#include <gtest/gtest.h>

#include "aws/credentials_source.h"
#include "aws/machine.h"

namespace weir::aws {
namespace {

using tests::Machine;

std::string told(const Result<std::optional<Source>>& found) {
  if (!found) return "error: " + found.error().message;
  if (!*found) return "none";
  const Source& source = **found;
  if (const auto* keys = std::get_if<Credentials>(&source))
    return "keys " + keys->access_key_id + " " + keys->secret_access_key + " " + keys->session_token;
  if (const auto* container = std::get_if<Container>(&source))
    return "container " + container->url.server.host + container->url.path + " " + container->token +
           container->token_file;
  if (const auto* identity = std::get_if<WebIdentity>(&source))
    return "identity " + identity->token_file + " " + identity->role + " " + identity->region;
  return "instance " + std::get<Instance>(source).url.server.host;
}

TEST(CredentialsSource, KeysInTheEnvironmentComeFirst) {
  Machine machine;
  machine.variables = {{"AWS_ACCESS_KEY_ID", "id"},
                       {"AWS_SECRET_ACCESS_KEY", "secret"},
                       {"AWS_SESSION_TOKEN", "token"},
                       {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                       {"AWS_ROLE_ARN", "arn"}};
  EXPECT_EQ(told(find_source(machine.environment())), "keys id secret token");
  machine.variables.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_NE(told(find_source(machine.environment())).find("set both"), std::string::npos);
}

TEST(CredentialsSource, WebIdentityComesBeforeTheProfile) {
  Machine machine;
  machine.variables = {{"HOME", "/home/u"},
                       {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                       {"AWS_ROLE_ARN", "arn"},
                       {"AWS_REGION", "eu-central-1"}};
  machine.files["/home/u/.aws/credentials"] = "[default]\naws_access_key_id=a\naws_secret_access_key=b\n";
  EXPECT_EQ(told(find_source(machine.environment())), "identity /t arn eu-central-1");
}

TEST(CredentialsSource, ReadsTheProfileThatIsNamed) {
  Machine machine;
  machine.variables = {{"HOME", "/home/u"}};
  machine.files["/home/u/.aws/credentials"] =
      "# keys\n[default]\naws_access_key_id = a\naws_secret_access_key = b # not c\n\n"
      "[work]\r\naws_access_key_id=w#1\r\naws_secret_access_key=s\r\naws_session_token = t\r\n";
  machine.files["/home/u/.aws/config"] =
      "[default]\nregion = us-east-1\n[profile work]\nregion=eu-west-1\ns3 =\n  region = nested\n"
      "aws_access_key_id = loses\n[sso-session work]\nregion = other\n";
  EXPECT_EQ(told(find_source(machine.environment())), "keys a b ");
  EXPECT_EQ(region_of(machine.environment()), "us-east-1");
  machine.variables["AWS_PROFILE"] = "work";
  EXPECT_EQ(told(find_source(machine.environment())), "keys w#1 s t");
  EXPECT_EQ(region_of(machine.environment()), "eu-west-1");
  machine.variables["AWS_PROFILE"] = "absent";
  EXPECT_NE(told(find_source(machine.environment())).find("\"absent\""), std::string::npos);
}

TEST(CredentialsSource, ReadsFilesWhereverTheEnvironmentSays) {
  Machine machine;
  machine.variables = {{"AWS_CONFIG_FILE", "/c"}, {"AWS_SHARED_CREDENTIALS_FILE", "/s"}};
  machine.files["/c"] = "[default]\nregion=r\n";
  machine.files["/s"] = "[default]\naws_access_key_id=a\naws_secret_access_key=b\n";
  EXPECT_EQ(told(find_source(machine.environment())), "keys a b ");
  EXPECT_EQ(region_of(machine.environment()), "r");
}

TEST(CredentialsSource, FollowsWebIdentityInAProfile) {
  Machine machine;
  machine.variables = {{"AWS_CONFIG_FILE", "/c"}};
  machine.files["/c"] = "[default]\nrole_arn=arn\nweb_identity_token_file=/t\n";
  EXPECT_EQ(told(find_source(machine.environment())), "identity /t arn ");
}

TEST(CredentialsSource, SaysWhatItDoesNotFollow) {
  for (const char* key : {"role_arn", "credential_process", "sso_start_url", "sso_session"}) {
    Machine machine;
    machine.variables = {{"AWS_CONFIG_FILE", "/c"}};
    machine.files["/c"] = std::string("[default]\n") + key + " = x\n";
    EXPECT_NE(told(find_source(machine.environment())).find(key), std::string::npos);
  }
}

TEST(CredentialsSource, FindsAContainersService) {
  Machine machine;
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"}};
  EXPECT_EQ(told(find_source(machine.environment())), "container 169.254.170.2/v2/x ");
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:99/get?x=1"},
                       {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "tok"}};
  EXPECT_EQ(told(find_source(machine.environment())), "container 127.0.0.1/get?x=1 tok");
  machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://elsewhere.example/get"}};
  EXPECT_NE(told(find_source(machine.environment())).find("https"), std::string::npos);
}

TEST(CredentialsSource, SendsAContainersTokenToNoNameWithoutTls) {
  for (const char* const host :
       {"localhost", "127.evil.example", "127.0.0.1.evil.example", "127.1", "127.0.0.01",
        "localhost.evil.example", "[::2]", "10.0.0.1", "169.254.170.20"}) {
    Machine machine;
    machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://" + std::string(host) + "/get"},
                         {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "tok"}};
    EXPECT_NE(told(find_source(machine.environment())).find("https"), std::string::npos) << host;
  }
  for (const char* const host : {"127.0.0.1", "127.255.0.9", "[::1]", "169.254.170.23", "[fd00:ec2::23]"}) {
    Machine machine;
    machine.variables = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://" + std::string(host) + "/get"}};
    EXPECT_TRUE(told(find_source(machine.environment())).starts_with("container ")) << host;
  }
}

TEST(CredentialsSource, AsksTheInstanceLast) {
  Machine machine;
  EXPECT_EQ(told(find_source(machine.environment())), "instance 169.254.169.254");
  machine.variables["AWS_EC2_METADATA_DISABLED"] = "true";
  EXPECT_EQ(told(find_source(machine.environment())), "none");
}

TEST(CredentialsSource, ReadsUrls) {
  const auto told_url = [](std::string_view text) -> std::string {
    const auto url = parse_url(text);
    if (!url) return "wrong";
    return (url->server.tls ? "tls " : "") + url->server.host + " " + std::to_string(url->server.port) + " " +
           url->path;
  };
  EXPECT_EQ(told_url("http://127.0.0.1:8000"), "127.0.0.1 8000 /");
  EXPECT_EQ(told_url("https://dynamodb.eu-central-1.amazonaws.com/"),
            "tls dynamodb.eu-central-1.amazonaws.com 443 /");
  EXPECT_EQ(told_url("http://[::1]:1/a/b?c"), "::1 1 /a/b?c");
  EXPECT_EQ(told_url("http://[::1]"), "::1 80 /");
  for (const char* bad :
       {"", "127.0.0.1", "ftp://x", "http://", "http://:80", "http://x:", "http://x:0", "http://x:65536",
        "http://x:y", "http://[::1", "http://[::1]x", "http://a b", "http://a\nb"})
    EXPECT_EQ(told_url(bad), "wrong") << bad;
}

TEST(CredentialsSource, ReadsMoments) {
  EXPECT_EQ(parse_moment("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_moment("2015-08-30T12:36:00Z"), 1'440'938'160'000);
  EXPECT_EQ(parse_moment("2015-08-30T12:36:00.250Z"), 1'440'938'160'000);
  EXPECT_EQ(parse_moment("2028-02-29T00:00:00Z"), 1'835'395'200'000);
  for (const char* bad : {"", "now", "2015-08-30T12:36:00", "2015-13-30T12:36:00Z", "2015-08-30 12:36:00Z",
                          "x015-08-30T12:36:00Z"})
    EXPECT_EQ(parse_moment(bad), std::nullopt) << bad;
}

TEST(CredentialsSource, PrefersTheEndpointOfTheService) {
  Machine machine;
  EXPECT_EQ(endpoint_of(machine.environment(), "DYNAMODB"), std::nullopt);
  machine.variables["AWS_ENDPOINT_URL"] = "http://a";
  EXPECT_EQ(endpoint_of(machine.environment(), "DYNAMODB"), "http://a");
  machine.variables["AWS_ENDPOINT_URL_DYNAMODB"] = "http://b";
  EXPECT_EQ(endpoint_of(machine.environment(), "DYNAMODB"), "http://b");
}

}  // namespace
}  // namespace weir::aws

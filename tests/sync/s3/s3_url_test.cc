// s3:// URLs: what they mean, and what is said about wrong ones.
#include "sync/s3_url.h"

#include <gtest/gtest.h>

#include "aws/machine.h"
#include "sync/exchange.h"
#include "sync/s3/words.h"

namespace weir::sync {
namespace {

using aws::S3Options;
using aws::S3Style;

Result<S3Options> options_of(const std::string& url, std::map<std::string, std::string> variables = {}) {
  variables.emplace("AWS_EC2_METADATA_DISABLED", "true");
  const tests::Machine machine{.variables = std::move(variables), .files = {}};
  auto parsed = parse_s3_url(url);
  if (!parsed) return parsed.error();
  return s3_options(*parsed, machine.environment());
}

/// The message about a URL; "fine" if there is none.
std::string wrong(const std::string& url, std::map<std::string, std::string> variables = {}) {
  const auto options = options_of(url, std::move(variables));
  if (options) return "fine";
  EXPECT_EQ(options.error().code, ErrorCode::invalid_argument);
  return options.error().message;
}

TEST(S3Url, NamesABucketOfAws) {
  const auto options = options_of("s3://weir-sync?region=eu-central-1");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->bucket, "weir-sync");
  EXPECT_EQ(options->region, "eu-central-1");
  EXPECT_EQ(options->endpoint.server, (aws::Server{true, "s3.eu-central-1.amazonaws.com", 443}));
  EXPECT_EQ(options->style, S3Style::host);
  EXPECT_EQ(options_of("s3://weir-sync?region=cn-north-1")->endpoint.server.host,
            "s3.cn-north-1.amazonaws.com.cn");
  // The certificate would not fit.
  EXPECT_EQ(options_of("s3://weir.sync?region=eu-central-1")->style, S3Style::path);
}

TEST(S3Url, NamesABucketElsewhere) {
  const auto options = options_of("s3://weir?endpoint=http%3A%2F%2F127.0.0.1%3A9000");
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->region, "us-east-1");
  EXPECT_EQ(options->endpoint.server, (aws::Server{false, "127.0.0.1", 9000}));
  EXPECT_EQ(options->style, S3Style::path);
  EXPECT_EQ(options_of("s3://weir?endpoint=http://localhost:9000&style=host")->style, S3Style::host);
  EXPECT_EQ(options_of("s3://weir?region=eu-central-1&style=path")->style, S3Style::path);
}

TEST(S3Url, HasAPrefixWithoutSlashesAtItsEnds) {
  for (const char* const url : {"s3://weir/a/b%20c", "s3://weir/a/b%20c/", "s3://weir/a/b%20c/?region=x"})
    EXPECT_EQ(parse_s3_url(url)->prefix, "a/b c") << url;
  for (const char* const url : {"s3://weir", "s3://weir/", "s3://weir/?region=x"})
    EXPECT_EQ(parse_s3_url(url)->prefix, "") << url;
}

TEST(S3Url, TakesFromTheEnvironmentWhatItDoesNotSay) {
  const auto options =
      options_of("s3://weir", {{"AWS_REGION", "eu-west-1"}, {"AWS_ENDPOINT_URL_S3", "https://minio:9000"}});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->region, "eu-west-1");
  EXPECT_EQ(options->endpoint.server, (aws::Server{true, "minio", 9000}));
  EXPECT_EQ(options->style, S3Style::path);
  EXPECT_EQ(options_of("s3://weir?region=eu-west-2", {{"AWS_REGION", "eu-west-1"}})->region, "eu-west-2");
}

TEST(S3Url, HasADeadline) {
  EXPECT_EQ(parse_s3_url("s3://weir?deadline_ms=1500")->deadline, std::chrono::milliseconds(1500));
  expect_words(wrong("s3://weir?region=x&deadline_ms=0"), {"deadline_ms", "1 to 600000"});
}

TEST(S3Url, SaysHowToNameABucket) {
  expect_words(wrong("https://weir"), {"s3://BUCKET/PREFIX"});
  for (const char* const bucket : {"", "ab", "Weir", "weir_sync", "-weir", "weir-", "we..ir", "we%20ir"})
    expect_words(wrong(std::string("s3://") + bucket + "?region=x"), {"3 to 63", "s3://BUCKET/PREFIX"});
  EXPECT_EQ(wrong("s3://" + std::string(63, 'a') + "?region=x"), "fine");
  expect_words(wrong("s3://" + std::string(64, 'a') + "?region=x"), {"3 to 63"});
  expect_words(wrong("s3://127.0.0.1:9000/weir"), {"?endpoint=https://HOST:PORT"});
}

TEST(S3Url, SaysHowToWriteAPrefix) {
  for (const char* const prefix : {"a//b", "./a", "a/..", "/a", "a%0Ab", "a%FF"})
    expect_words(wrong(std::string("s3://weir/") + prefix + "?region=x"), {"prefix", "no empty segment"});
  expect_words(wrong("s3://weir/" + std::string(513, 'a') + "?region=x"), {"512 bytes"});
  expect_words(wrong("s3://weir/a%2?region=x"), {"broken % escape", "%25"});
  expect_words(wrong("s3://weir/a#b?region=x"), {"%23"});
}

TEST(S3Url, SaysWhichParametersThereAre) {
  expect_words(wrong("s3://weir?regoin=x"), {"\"regoin\"", "did you mean \"region\""});
  expect_words(wrong("s3://weir?region=x&region=y"), {"\"region\"", "twice"});
  expect_words(wrong("s3://weir?region=%2"), {"broken % escape"});
  expect_words(wrong("s3://weir?region=Frankfurt!"), {"eu-central-1"});
  expect_words(wrong("s3://weir?region=x&style=virtual"),
               {"path (ENDPOINT/BUCKET)", "host (BUCKET.ENDPOINT)"});
  expect_words(wrong("s3://weir?region=x&insecure=yes"), {"true or false"});
  expect_words(wrong("s3://weir?endpoint=minio:9000"), {"endpoint", "http://HOST:PORT"});
  expect_words(wrong("s3://weir?endpoint=https://minio/%3Fa=b"), {"must not have parameters"});
  expect_words(wrong("s3://weir"), {"?region=...", "AWS_REGION"});
  expect_words(wrong("s3://weir", {{"AWS_REGION", "a b"}}), {"AWS_REGION"});
}

TEST(S3Url, KeepsRequestsSafeUnlessToldOtherwise) {
  expect_words(wrong("s3://weir?endpoint=http://minio:9000"), {"no TLS", "insecure=true", "the exchange"});
  EXPECT_EQ(wrong("s3://weir?endpoint=http://minio:9000&insecure=true"), "fine");
  EXPECT_EQ(wrong("s3://weir?endpoint=https://minio:9000"), "fine");
}

TEST(S3Url, SaysWhereABucketCannotBePartOfTheHost) {
  expect_words(wrong("s3://we.ir?region=x&style=host"), {"style=path"});
  expect_words(wrong("s3://weir?endpoint=http://127.0.0.1:9000&style=host"), {"style=path"});
  expect_words(wrong("s3://weir?endpoint=http://[::1]:9000&style=host"), {"style=path"});
  EXPECT_EQ(wrong("s3://we.ir?endpoint=http://localhost:9000&style=host"), "fine");
}

TEST(S3Url, ShowsNoCredentials) {
  for (const char* const url :
       {"s3://AKIA:hush@weir?region=x", "s3://hush@weir", "s3://weir?endpoint=https://AKIA:hush@minio",
        "s3://weir?region=x&secret=hush"}) {
    const std::string said = wrong(url);
    EXPECT_NE(said, "fine");
    EXPECT_EQ(said.find("hush"), std::string::npos) << said;
  }
  expect_words(wrong("s3://AKIA:hush@weir"), {"AWS_ACCESS_KEY_ID"});
}

TEST(S3Url, NeedsCredentialsForAnotherMachine) {
  const tests::Machine machine{.variables = {{"AWS_EC2_METADATA_DISABLED", "true"}}, .files = {}};
  const auto opened = open_s3("s3://weir?region=eu-central-1", machine.environment());
  ASSERT_FALSE(opened);
  expect_words(opened.error().message, {"AWS_ACCESS_KEY_ID"});
  EXPECT_TRUE(open_s3("s3://weir?endpoint=http://127.0.0.1:9", machine.environment()));
}

}  // namespace
}  // namespace weir::sync

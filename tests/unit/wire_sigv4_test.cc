// Against the examples that AWS has published. What curl makes of the same is in tests/aws.
#include <gtest/gtest.h>

#include "wire/sigv4.h"

namespace weir::wire::aws {
namespace {

/// Of all examples: 20150830T123600Z.
constexpr Time when = 1'440'938'160'000;
const Credentials example{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};

std::string signature_of(const UnsignedRequest& request, const char* service = "service") {
  Signer signer({"us-east-1", service});
  const std::string text = signer.sign(request, example, when).authorization;
  return text.substr(text.find("Signature=") + 10);
}

TEST(SigV4, FormatsTheMoment) {
  const DateTime date = format_date_time(when + 999);
  EXPECT_EQ(std::string(date.data(), date.size()), "20150830T123600Z");
}

TEST(SigV4, SignsTheVanillaRequestsOfTheSuite) {
  EXPECT_EQ(signature_of({.method = "GET", .fields = {{"host", "example.amazonaws.com"}}}),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(signature_of({.method = "POST", .fields = {{"host", "example.amazonaws.com"}}}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST(SigV4, PutsParametersInOrder) {
  EXPECT_EQ(signature_of({.method = "GET",
                          .query = "Param2=value2&Param1=value1",
                          .fields = {{"host", "example.amazonaws.com"}}}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(SigV4, SignsTheExampleOfTheGuide) {
  Signer signer({"us-east-1", "iam"});
  EXPECT_EQ(signer
                .sign({.method = "GET",
                       .query = "Action=ListUsers&Version=2010-05-08",
                       .fields = {{"content-type", "application/x-www-form-urlencoded; charset=utf-8"},
                                  {"host", "iam.amazonaws.com"}}},
                      example, when)
                .authorization,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, "
            "SignedHeaders=content-type;host;x-amz-date, "
            "Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
}

TEST(SigV4, WritesDownWhatItSigns) {
  EXPECT_EQ(canonical_request({.method = "GET",
                               .path = "/a%20b/c",
                               .query = "b=2&a=%20&c",
                               .fields = {{"x-two", "  a   b "}, {"host", "h"}},
                               .body = ""}),
            "GET\n/a%2520b/c\na=%20&b=2&c=\nhost:h\nx-two:a b\n\nhost;x-two\n"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/// The examples of the S3 guide, "Using the Authorization Header": all of 20130524T000000Z.
std::string s3_signature_of(std::string_view method, std::string_view path, std::string_view query,
                            std::vector<http::Field> fields, std::string_view body = {}) {
  const std::string hash = sha256_hex(body);
  fields.push_back({"host", "examplebucket.s3.amazonaws.com"});
  fields.push_back({"x-amz-content-sha256", hash});
  Signer signer({"us-east-1", "s3"});
  const std::string text =
      signer
          .sign({.method = method,
                 .path = path,
                 .query = query,
                 .fields = fields,
                 .body_hash = hash,
                 .path_form = PathForm::as_sent},
                {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, 1'369'353'600'000)
          .authorization;
  return text.substr(text.find("Signature=") + 10);
}

TEST(SigV4, SignsTheExamplesOfTheGuideOfS3) {
  EXPECT_EQ(s3_signature_of("GET", "/test.txt", "", {{"range", "bytes=0-9"}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(s3_signature_of(
                "PUT", "/test%24file.text", "",
                {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                "Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(s3_signature_of("GET", "/", "lifecycle", {}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(s3_signature_of("GET", "/", "max-keys=2&prefix=J", {}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, LeavesThePathOfS3AsItIsSent) {
  const std::string text =
      canonical_request({.path = "/a%20b/c", .fields = {{"host", "h"}}, .path_form = PathForm::as_sent});
  EXPECT_EQ(text.substr(0, text.find("\n\n")), "POST\n/a%20b/c");
}

TEST(SigV4, MakesANewKeyForEachDayAndSecret) {
  Signer kept({"us-east-1", "service"});
  const UnsignedRequest request{.fields = {{"host", "example.amazonaws.com"}}, .body = "x"};
  const Credentials other{"AKIDOTHER", "another secret", "a token"};
  constexpr Time day = 86'400'000;
  for (const Time now : {when, when + day, when}) {
    for (const Credentials& credentials : {example, other}) {
      Signer fresh({"us-east-1", "service"});
      EXPECT_EQ(kept.sign(request, credentials, now).authorization,
                fresh.sign(request, credentials, now).authorization);
    }
  }
}

TEST(SigV4, SignsTheTokenToo) {
  Signer signer({"us-east-1", "service"});
  const std::string text =
      signer.sign({.fields = {{"host", "h"}}}, {"id", "secret", "token"}, when).authorization;
  EXPECT_NE(text.find("SignedHeaders=host;x-amz-date;x-amz-security-token,"), std::string::npos) << text;
}

}  // namespace
}  // namespace weir::wire::aws

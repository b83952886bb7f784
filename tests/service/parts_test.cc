// Tokens files and bodies without a socket.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "service/bodies.h"
#include "service/plain_acquire.h"
#include "service/tokens.h"

namespace weir::service {
namespace {

// Of "secret".
const std::string digest = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

std::string error_of(std::string_view text) {
  const auto tokens = Tokens::parse(text, "file");
  return tokens ? "none" : tokens.error().message;
}

TEST(TokensFile, IsLinesOfNameRolesDigestAndNamespace) {
  const auto tokens =
      Tokens::parse("# who may call\r\n\n  alice\tacquire,read  " + digest + " team-2 \r\n", "file");
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(tokens->size(), 1U);
  const Caller* const caller = tokens->find("secret");
  ASSERT_NE(caller, nullptr);
  EXPECT_EQ(caller->name, "alice");
  EXPECT_EQ(caller->name_space, "team-2");
  EXPECT_TRUE(caller->may(Role::acquire));
  EXPECT_TRUE(caller->may(Role::read));
  EXPECT_FALSE(caller->may(Role::admin));
  EXPECT_EQ(tokens->find("secret2"), nullptr);
  EXPECT_EQ(tokens->find(""), nullptr);
  EXPECT_EQ(tokens->find(digest), nullptr);
}

TEST(TokensFile, MayBeginWithAByteOrderMark) {
  const auto tokens = Tokens::parse(
      "\xef\xbb\xbf"
      "alice admin " +
          digest + "\r\n",
      "file");
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(tokens->find("secret")->name, "alice");
}

TEST(TokensFile, TakesHexDigitsInEitherCase) {
  std::string upper = digest;
  for (std::size_t i = 7; i < upper.size(); ++i) upper[i] = static_cast<char>(std::toupper(upper[i]));
  const auto tokens = Tokens::parse("alice admin " + upper, "file");
  ASSERT_TRUE(tokens);
  EXPECT_TRUE(tokens->find("secret")->may(Role::acquire));
}

TEST(TokensFile, SaysWhichLineIsWrong) {
  EXPECT_EQ(error_of(""), "file: no tokens in it");
  EXPECT_EQ(error_of("# only a remark\n"), "file: no tokens in it");
  EXPECT_EQ(error_of("\nalice admin\n"), "file:2: write: name role[,role] sha256:HEX [namespace]");
  EXPECT_TRUE(error_of("alice admin " + digest + " ns more").starts_with("file:1: write: "));
  EXPECT_TRUE(error_of("alice admin sha256:abc").starts_with("file:1: the third word must be sha256:"));
  EXPECT_TRUE(error_of("alice admin " + digest + "00").starts_with("file:1: the third word must be"));
  EXPECT_TRUE(error_of("alice admin " + digest.substr(0, 70) + "g").starts_with("file:1: the third word"));
  EXPECT_EQ(error_of("alice , " + digest), "file:1: the second word names no role");
  EXPECT_TRUE(error_of("alice owner " + digest).starts_with("file:1: the second word must be roles"));
  EXPECT_TRUE(error_of(std::string(129, 'a') + " admin " + digest).starts_with("file:1: the name is too"));
  EXPECT_TRUE(error_of("alice admin " + digest + " Team").starts_with("file:1: the fourth word must be"));
}

TEST(TokensFile, NeverRepeatsAWordThatMayBeASecret) {
  for (const char* const line : {"hunter2 hunter2 hunter2", "a hunter2 sha256:0", "a admin hunter2",
                                 "hunter2 admin", "a admin sha256:hunter2"})
    EXPECT_EQ(error_of(line).find("hunter2"), std::string::npos) << error_of(line);
  EXPECT_EQ(error_of("a admin " + digest + " hunter2_").find("hunter2"), std::string::npos);
}

std::string wrong(const auto& parsed) {
  if (!parsed.malformed.empty()) return "400 " + parsed.malformed;
  return parsed.invalid.empty() ? "ok" : "422 " + parsed.invalid;
}

TEST(Bodies, OfAnAcquireAreExactToTheThousandth) {
  const auto parsed = parse_acquire(
      R"({ "limits" : {"rpm":"2/s"}, "consume":{"rpm":1,"tpm":0.125 } ,"resource":"r","entity":"e" } )");
  EXPECT_EQ(wrong(parsed), "ok");
  EXPECT_EQ(parsed.value.entity, "e");
  EXPECT_EQ(parsed.value.resource, "r");
  const auto charges = parsed.value.consume.charges();
  ASSERT_EQ(charges.size(), 2U);
  EXPECT_EQ(charges[1].limit, "tpm");
  EXPECT_EQ(charges[1].amount, Amount::milli(125));
  ASSERT_EQ(parsed.value.limits.size(), 1U);
  EXPECT_EQ(parsed.value.limits[0].limit.capacity(), Amount(2));
}

TEST(Bodies, SayWhatIsWrongWithThem) {
  EXPECT_EQ(wrong(parse_acquire("nonsense")), "400 the body must be a JSON object");
  EXPECT_EQ(wrong(parse_acquire("{} {}")), "400 there is something behind the JSON object");
  EXPECT_EQ(wrong(parse_acquire(R"({"entity":["e"]})")), R"(400 "entity" must be a string)");
  EXPECT_EQ(wrong(parse_acquire(R"({"consume":{"rpm":true}})")), R"(400 amount of "rpm" must be a number)");
  EXPECT_EQ(wrong(parse_adjust(R"({"consum":{}})")),
            R"(422 field "consum" is not known here; did you mean "consume"?)");
  EXPECT_EQ(wrong(parse_settle(R"({"actual":{"a":1,"a":2}})")),
            R"(400 "a" stands twice in actual; keep one of them)");
  EXPECT_EQ(wrong(parse_limits_body(R"({"ttl_ms":"5"})")), R"(400 "ttl_ms" must be a whole number)");
  EXPECT_EQ(wrong(parse_limits_body(R"({"limits":{"rpm":true}})")),
            R"(422 limit "rpm" must be text such as "100/min", or an object with capacity)");
  EXPECT_EQ(wrong(parse_entity(R"({"metadata":{"a":1}})", "e")), R"(400 "a" must be a string)");
  EXPECT_EQ(wrong(parse_entity(R"({"entity":"f"})", "e")), R"(422 the body is of another entity than "e")");
}

TEST(Bodies, MayBeLeftOutWhereNothingNeedsSaying) {
  EXPECT_EQ(wrong(parse_settle("")), "ok");
  EXPECT_EQ(wrong(parse_settle(" \n")), "ok");
  EXPECT_EQ(wrong(parse_entity("", "e")), "ok");
  EXPECT_EQ(parse_entity("{}", "e").value.id, "e");
  EXPECT_NE(wrong(parse_adjust("")), "ok");
  EXPECT_NE(wrong(parse_limits_body("")), "ok");
}

TEST(Bodies, OfAnEntityAreRefusedIfNullIsMisspelt) {
  EXPECT_EQ(wrong(parse_entity(R"({"parent":nyll})", "e")), "400 the body is not JSON");
  EXPECT_EQ(wrong(parse_entity(R"({"parent":nyll{}}}})", "e")), "400 the body is not JSON");
  EXPECT_EQ(wrong(parse_entity(R"({"parent":null})", "e")), "ok");
}

TEST(Bodies, DoNotRememberTheOneBefore) {
  EXPECT_NE(wrong(parse_acquire(R"({"entity":"e)")), "ok");
  EXPECT_EQ(wrong(parse_acquire(R"({"entity":"e"})")), "ok");
}

TEST(ConsumeList, IsNamesAndAmounts) {
  const auto parsed = parse_consume_list("rpm:1,tpm:0.5");
  EXPECT_EQ(wrong(parsed), "ok");
  ASSERT_EQ(parsed.value.by_limit.size(), 2U);
  EXPECT_EQ(parsed.value.by_limit[1].second, Amount::milli(500));
  EXPECT_EQ(wrong(parse_consume_list("")), "ok");
  EXPECT_EQ(wrong(parse_consume_list(",")), R"(400 consume "": write limit:amount, such as rpm:1,tpm:500)");
  EXPECT_EQ(wrong(parse_consume_list("rpm")),
            R"(400 consume "rpm": write limit:amount, such as rpm:1,tpm:500)");
  EXPECT_TRUE(wrong(parse_consume_list("rpm:x")).starts_with(R"(422 consume "rpm:x": )"));
}

std::optional<AcquireBody> plain(std::string_view json) {
  AcquireBody body;
  return read_plain_acquire(json, body) ? std::optional(body) : std::nullopt;
}

TEST(PlainAcquire, ReadsWhatClientsMostlySend) {
  const auto body = plain(R"( {"entity" : "key-1","resource":"gpt-4",
    "consume":{"rpm":1, "tpm":500}} )");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->entity, "key-1");
  EXPECT_EQ(body->resource, "gpt-4");
  const std::vector<std::pair<std::string, Amount>> consume{{"rpm", Amount(1)}, {"tpm", Amount(500)}};
  EXPECT_EQ(body->consume.by_limit, consume);
}

TEST(PlainAcquire, LeavesTheRestToTheParser) {
  for (const std::string_view json :
       {"",
        "{",
        "{}",
        R"({"entity":"a"} x)",
        R"({"entity":"a")",
        R"({"entity":"a",})",
        R"({"entity":7})",
        R"({"entity":"a\u0062"})",
        "{\"entity\":\"\xc3\xa4\"}",
        "{\"entity\":\"\x01\"}",
        R"({"entity":"a","entity":"b"})",
        R"({"entity":"a","limits":{"rpm":"1/s"}})",
        R"({"consume":{}})",
        R"({"consume":{"rpm":1,"rpm":2}})",
        R"({"consume":{"rpm":01}})",
        R"({"consume":{"rpm":1.5}})",
        R"({"consume":{"rpm":-1}})",
        R"({"consume":{"rpm":1e3}})",
        R"({"consume":{"rpm":"1"}})",
        R"({"consume":{"rpm":1234567890123}})",
        R"({"consume":{"rpm":}})",
        R"({"consume":{"rpm":1 2}})",
        R"({"consume":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}})",
        R"(["entity"])"})
    EXPECT_FALSE(plain(json)) << json;
}

TEST(PlainAcquire, ReadsNothingOtherwiseThanTheParser) {
  const std::string seed = R"({"entity":"key-1","resource":"gpt-4","consume":{"rpm":1,"tpm":500}})";
  const std::string_view letters = "\"{}:,\\ 0159eaz\n\t\x01\x7f\xc3[]-.";
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) { return random() % end; };
  int read = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string json = seed;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(json.size());
      const char letter = letters[below(letters.size())];
      switch (below(3)) {
        case 0:
          json[at] = letter;
          break;
        case 1:
          json.insert(at, 1, letter);
          break;
        default:
          json.erase(at, 1);
      }
    }
    const auto body = plain(json);
    if (!body) continue;
    ++read;
    const auto parsed = parse_any_acquire(json);
    ASSERT_TRUE(parsed.ok()) << json;
    ASSERT_EQ(parsed.value, *body) << json;
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace weir::service

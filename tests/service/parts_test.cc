// Tokens files and bodies without a socket.
#include <gtest/gtest.h>

#include <cctype>
#include <optional>
#include <random>
#include <sstream>

#include "server/decisions.h"
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

TEST(DecisionLogOfAServer, InPlaceOfAFileTakesNoMoreMemoryThanUsual) {
  FakeClock clock;
  base::SystemEntropy entropy;
  std::ostringstream text;
  telemetry::Log log(text, clock, {});
  const auto most_of = [&](std::uint64_t size) {
    auto opened = server::open_decision_log({.most_bytes = size, .has_thread = false},
                                            "sqlite:/no/such/folder/weir.db", clock, entropy, log);
    EXPECT_TRUE(opened) << opened.error().message;
    return (*opened)->most_bytes();
  };
  EXPECT_EQ(most_of(0), decision_log::usual_bytes_in_memory);
  EXPECT_EQ(most_of(1024 * decision_log::usual_bytes), decision_log::usual_bytes_in_memory)
      << "meant for a disk";
  EXPECT_EQ(most_of(2 * decision_log::least_bytes), 2 * decision_log::least_bytes);
  EXPECT_NE(text.str().find("the decision log is kept in memory"), std::string::npos) << text.str();
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

TEST(TokensFile, SaysThatATokenStandsOnTwoLines) {
  const std::string lower = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  std::string upper = lower;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const auto twice =
      Tokens::parse("a read sha256:" + lower + "\n# b\nb admin sha256:" + upper + " team\n", "t");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message,
            "t:3: the token of this line stands on line 1 too; give each line a token of its own");
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

TEST(Bodies, HaveNumbersWithExponents) {
  const auto amount_of = [](const std::string& number) {
    const auto parsed = parse_acquire(R"({"consume":{"rpm":)" + number + "}}");
    if (!parsed.ok()) return parsed.malformed.empty() ? parsed.invalid : "malformed: " + parsed.malformed;
    return parsed.value.consume.by_limit.at(0).second.to_string();
  };
  EXPECT_EQ(amount_of("1e3"), "1000");
  EXPECT_EQ(amount_of("1E+3"), "1000");
  EXPECT_EQ(amount_of("1e0"), "1");
  EXPECT_EQ(amount_of("12.5e2"), "1250");
  EXPECT_EQ(amount_of("1.2345e4"), "12345");
  EXPECT_EQ(amount_of("1.2345e1"), "12.345");
  EXPECT_EQ(amount_of("1E-3"), "0.001");
  EXPECT_EQ(amount_of("-1.5e1"), "-15");
  EXPECT_EQ(amount_of("1500e-3"), "1.5");
  EXPECT_EQ(amount_of("10000e-4"), "1");
  EXPECT_EQ(amount_of("0.00000e-9"), "0");
  EXPECT_EQ(amount_of("0e999999999999999999999"), "0");
  EXPECT_EQ(amount_of("4503599627370.496e0"), "4503599627370.496");
  EXPECT_EQ(amount_of("0.004503599627370496e15"), "4503599627370.496");
  for (const char* const many : {"1e-4", "1.2345e0", "1e-999999999999999999999", "15e-4"}) {
    EXPECT_EQ(amount_of(many), "amount of \"rpm\": amount \"" + std::string(many) +
                                   "\" has more than three decimals; write a number such as 500 or 1.5");
  }
  for (const char* const large : {"1e13", "1e999999999999999999999", "-1e300", "4503599627370.497e0"}) {
    EXPECT_TRUE(amount_of(large).starts_with("amount of \"rpm\": amount \"")) << amount_of(large);
    EXPECT_NE(amount_of(large).find("\" is too large"), std::string::npos) << amount_of(large);
  }
  for (const char* const broken : {"1e", "1e+", "e3", "1e3.5", "1e3e3", "01e3"})
    EXPECT_TRUE(amount_of(broken).starts_with("malformed: ")) << broken << ": " << amount_of(broken);
}

TEST(Bodies, HaveExponentsInLimitsAndDurationsToo) {
  const auto limits = parse_limits_body(
      R"({"limits":{"rpm":{"capacity":1e2,"burst":1.5E2,"refill_period_ms":6e4}},"owner":"sync","ttl_ms":3e4})");
  ASSERT_TRUE(limits.ok()) << limits.malformed << limits.invalid;
  EXPECT_EQ(limits.value.limits.at(0).limit, *Limit::parse("100/min:150"));
  EXPECT_EQ(limits.value.options.expires_in, std::chrono::milliseconds(30'000));
  const auto part = parse_limits_body(R"({"limits":{},"ttl_ms":1.5e0})");
  EXPECT_EQ(part.malformed, R"("ttl_ms" must be a whole number)");
  EXPECT_EQ(parse_limits_body(R"({"limits":{},"ttl_ms":1e30})").malformed,
            R"("ttl_ms" must be a whole number)");
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

#include <gtest/gtest.h>

#include <string>

#include "wire/resp.h"

namespace weir::wire::resp {
namespace {

using Status = ReplyReader::Status;

std::string shown(const Reply& reply) {
  switch (reply.type()) {
    case Type::text:
      return "'" + std::string(reply.text()) + "'";
    case Type::error:
      return "!" + std::string(reply.text());
    case Type::integer:
      return std::to_string(*reply.integer());
    case Type::null:
      return "nil";
    default:
      break;
  }
  std::string text = reply.type() == Type::map ? "{" : reply.type() == Type::push ? ">[" : "[";
  for (auto child = reply.children(); !child.at_end(); ++child) text += shown(*child) + " ";
  return text + "]";
}

/// The reply, read at once and byte by byte, which must not differ.
std::string read(const std::string& bytes) {
  ReplyReader whole;
  const Status status = whole.read(bytes);
  ReplyReader pieces;
  Status last = Status::incomplete;
  for (std::size_t i = 1; i <= bytes.size() && last == Status::incomplete; ++i)
    last = pieces.read(std::string_view(bytes).substr(0, i));
  EXPECT_EQ(last, status) << bytes;
  if (status == Status::malformed) return "malformed";
  if (status == Status::incomplete) return "incomplete";
  EXPECT_EQ(whole.size(), pieces.size());
  EXPECT_EQ(shown(whole.reply(bytes.data())), shown(pieces.reply(bytes.data())));
  return shown(whole.reply(bytes.data()));
}

TEST(Resp, ReadsEveryKindOfReplyOfVersionTwo) {
  EXPECT_EQ(read("+OK\r\n"), "'OK'");
  EXPECT_EQ(read("-ERR no\r\n"), "!ERR no");
  EXPECT_EQ(read(":-42\r\n"), "-42");
  EXPECT_EQ(read("$5\r\na\r\nbc\r\n"), "'a\r\nbc'");
  EXPECT_EQ(read("$0\r\n\r\n"), "''");
  EXPECT_EQ(read("$-1\r\n"), "nil");
  EXPECT_EQ(read("*-1\r\n"), "nil");
  EXPECT_EQ(read("*0\r\n"), "[]");
  EXPECT_EQ(read("*3\r\n:1\r\n*2\r\n+a\r\n*0\r\n$1\r\nz\r\n"), "[1 ['a' [] ] 'z' ]");
}

TEST(Resp, ReadsEveryKindOfReplyOfVersionThree) {
  EXPECT_EQ(read("_\r\n"), "nil");
  EXPECT_EQ(read("#t\r\n"), "1");
  EXPECT_EQ(read("#f\r\n"), "0");
  EXPECT_EQ(read(",1.5\r\n"), "'1.5'");
  EXPECT_EQ(read("(123456789012345678901234567890\r\n"), "'123456789012345678901234567890'");
  EXPECT_EQ(read("!5\r\nERR x\r\n"), "!ERR x");
  EXPECT_EQ(read("=7\r\ntxt:abc\r\n"), "'txt:abc'");
  EXPECT_EQ(read("%1\r\n+a\r\n:1\r\n"), "{'a' 1 ]");
  EXPECT_EQ(read("~2\r\n:1\r\n:2\r\n"), "[1 2 ]");
  EXPECT_EQ(read(">2\r\n+message\r\n$1\r\nx\r\n"), ">['message' 'x' ]");
}

TEST(Resp, RefusesWhatIsNoReply) {
  for (const char* const bytes :
       {"\r\n", "HTTP/1.1 200 OK\r\n", ":\r\n", ":1x\r\n", "$-2\r\n", "$x\r\n", "$1\r\nab\r\n", "*-2\r\n",
        "#x\r\n", "_x\r\n", "+a\rb\r\n", "$99999999999999999999\r\n", "*99999999999999999999\r\n",
        "*2\r\n:1\r\n?\r\n", "$?\r\n", "*?\r\n"}) {
    EXPECT_EQ(read(bytes), "malformed") << bytes;
  }
  EXPECT_EQ(read("*2\r\n:1\r\n"), "incomplete");
}

TEST(Resp, HoldsToItsLimits) {
  ReplyReader reader({.bytes = 100, .nodes = 10, .depth = 3});
  EXPECT_EQ(reader.read("$101\r\n"), Status::malformed);
  reader.reset();
  EXPECT_EQ(reader.read("*11\r\n"), Status::malformed);
  reader.reset();
  EXPECT_EQ(reader.read("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), Status::malformed);
  reader.reset();
  std::string many = "*10\r\n";
  for (int i = 0; i < 10; ++i) many += ":1\r\n";
  EXPECT_EQ(reader.read(many), Status::malformed) << "the list itself is one too";
  reader.reset();
  EXPECT_EQ(reader.read("+" + std::string(200, 'a')), Status::malformed);
}

TEST(Resp, ReadsOneReplyAfterTheOther) {
  const std::string bytes = ":1\r\n$2\r\nab\r\n";
  ReplyReader reader;
  ASSERT_EQ(reader.read(bytes), Status::complete);
  EXPECT_EQ(reader.size(), 4U);
  reader.reset();
  const std::string_view rest = std::string_view(bytes).substr(4);
  ASSERT_EQ(reader.read(rest), Status::complete);
  EXPECT_EQ(reader.reply(rest.data()).text(), "ab");
}

TEST(Resp, WritesCommandsThatCanHoldAnything) {
  EXPECT_EQ(command({"SET", "k", std::string_view("a\0\r\n", 4)}),
            std::string("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\0\r\n\r\n", 30));
  std::string out;
  append_word(out, std::int64_t{-12});
  EXPECT_EQ(out, "$3\r\n-12\r\n");
}

TEST(Resp, KnowsTheSlotOfAKey) {
  // From the specification of Redis Cluster, and from CLUSTER KEYSLOT.
  EXPECT_EQ(slot_of("123456789"), 0x31c3U % 16384);
  EXPECT_EQ(slot_of("foo"), 12182U);
  EXPECT_EQ(slot_of("weir:default:{foo}:b:x:y"), 12182U);
  EXPECT_EQ(slot_of("{}foo"), slot_of("{}foo"));
  EXPECT_NE(slot_of("{}foo"), slot_of("foo")) << "empty braces count for nothing";
}

}  // namespace
}  // namespace weir::wire::resp

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "wire/buffer.h"
#include "wire/http_body.h"
#include "wire/http_write.h"

namespace weir::wire::http {
namespace {

using Kind = Framing::Kind;

struct Decoded {
  Progress progress = Progress::need_more;
  int status = 0;
  std::string body;
  std::string rest;
  std::string trailers;
};

/// Feeds the bytes in pieces of `piece`.
Decoded decode(std::string_view bytes, Framing framing, std::size_t piece, std::uint64_t largest = 1000,
               const Limits& limits = {}) {
  BodyDecoder decoder(limits);
  decoder.start(framing, largest);
  Decoded decoded;
  std::size_t arrived = 0;
  std::size_t used = 0;
  while (true) {
    const auto step = decoder.decode(bytes.substr(used, arrived - used));
    used += step.consumed;
    decoded.body += step.data;
    decoded.progress = step.progress;
    if (step.progress != Progress::need_more) break;
    if (step.consumed != 0) continue;
    if (arrived == bytes.size()) break;
    arrived = std::min(arrived + piece, bytes.size());
  }
  decoded.rest = bytes.substr(used);
  if (decoded.progress == Progress::failed) decoded.status = decoder.refusal().status;
  for (std::size_t i = 0; i < decoder.trailers().size(); ++i) {
    decoded.trailers +=
        std::string(decoder.trailers()[i].name) + "=" + std::string(decoder.trailers()[i].value) + ";";
  }
  return decoded;
}

Decoded chunked(std::string_view bytes, const Limits& limits = {}) {
  const Decoded at_once = decode(bytes, {Kind::chunked}, bytes.size() + 1, 1000, limits);
  const Decoded by_byte = decode(bytes, {Kind::chunked}, 1, 1000, limits);
  EXPECT_EQ(at_once.status, by_byte.status) << bytes;
  EXPECT_EQ(at_once.body, by_byte.body) << bytes;
  return at_once;
}

TEST(HttpBody, OfALengthEndsThereAndLeavesTheRest) {
  for (const std::size_t piece : {1U, 2U, 100U}) {
    const Decoded decoded = decode("helloGET /", {Kind::length, 5}, piece);
    EXPECT_EQ(decoded.progress, Progress::complete);
    EXPECT_EQ(decoded.body, "hello");
    EXPECT_EQ(decoded.rest, "GET /");
  }
  EXPECT_EQ(decode("hell", {Kind::length, 5}, 10).progress, Progress::need_more);
  EXPECT_EQ(decode("", {Kind::none}, 1).progress, Progress::complete);
  EXPECT_EQ(decode("hello", {Kind::length, 1001}, 1).status, 413);
}

TEST(HttpBody, InChunksEndsWithItsTrailers) {
  const Decoded decoded = chunked("5\r\nhello\r\n1;a=b;c=\"d\"\r\n!\r\n000\r\nX-Sum: 7\r\nY:\r\n\r\nGET /");
  EXPECT_EQ(decoded.progress, Progress::complete);
  EXPECT_EQ(decoded.body, "hello!");
  EXPECT_EQ(decoded.trailers, "X-Sum=7;Y=;");
  EXPECT_EQ(decoded.rest, "GET /");
  EXPECT_EQ(chunked("0\r\n\r\n").progress, Progress::complete);
  EXPECT_EQ(chunked("A\r\n0123456789\r\n0\r\n\r\n").body, "0123456789");
}

TEST(HttpBody, RefusesChunksThatCouldBeReadInTwoWays) {
  for (const char* bad : {"\r\n",
                          "g\r\n",
                          "-1\r\n",
                          "+1\r\n",
                          "0x1\r\n",
                          " 1\r\n",
                          "1 \r\n",
                          "1 ;a\r\n",
                          "1\n",
                          "1\rX",
                          "1;a\nb\r\n",
                          "1;a\rb\r\n",
                          "1\r\nab",
                          "1\r\na\n",
                          "1\r\na\rX",
                          "1000000000000000\r\n",
                          "0000000000000001\r\n",
                          "0\r\nA: b\n\r\n",
                          "0\r\n A: b\r\n\r\n",
                          "0\r\nA : b\r\n\r\n",
                          "0\r\nContent-Length: 3\r\n\r\n",
                          "0\r\nTransfer-Encoding: chunked\r\n\r\n",
                          "0\r\nHost: a\r\n\r\n",
                          "0\r\n\n"}) {
    EXPECT_EQ(chunked(bad).status, 400) << bad;
  }
}

TEST(HttpBody, HoldsToItsLimits) {
  const Limits limits{.fields = 2, .chunk_extensions = 5, .trailer = 20};
  EXPECT_EQ(chunked("1;12345\r\na\r\n0\r\n\r\n", limits).status, 0);
  EXPECT_EQ(chunked("1;123\r\na\r\n0;456\r\n\r\n", limits).status, 400) << "all extensions of a body count";
  EXPECT_EQ(chunked("0\r\nA: " + std::string(13, 'b') + "\r\n\r\n", limits).status, 0);
  EXPECT_EQ(chunked("0\r\nA: " + std::string(14, 'b') + "\r\n\r\n", limits).status, 431);
  EXPECT_EQ(chunked("0\r\nA:\r\nB:\r\nC:\r\n\r\n", limits).status, 431);
  EXPECT_EQ(chunked("3e8\r\n").status, 0);
  EXPECT_EQ(chunked("3e9\r\n").status, 413);
  EXPECT_EQ(chunked("3e7\r\n" + std::string(999, 'a') + "\r\n2\r\n").status, 413);
}

TEST(HttpBody, UntilCloseEndsWithTheConnection) {
  BodyDecoder decoder(Limits{});
  decoder.start({Kind::until_close}, 1000);
  EXPECT_EQ(decoder.decode("all").data, "all");
  EXPECT_TRUE(decoder.end_of_input());
  EXPECT_EQ(decoder.decode("x").progress, Progress::complete);
  decoder.start({Kind::length, 5}, 1000);
  decoder.decode("abc");
  EXPECT_FALSE(decoder.end_of_input()) << "it was cut";
  EXPECT_EQ(decode("abcdef", {Kind::until_close}, 10, 5).status, 413);
}

RC_GTEST_PROP(HttpBody, WhatIsWrittenInChunksIsReadBack, (const std::vector<std::string>& parts)) {
  Buffer out;
  std::string whole;
  for (const std::string& part : parts) {
    write_chunk(out, part);
    whole += part;
  }
  write_last_chunk(out, "A: b\r\n");
  const auto piece = *rc::gen::inRange<std::size_t>(1, 20);
  const Decoded decoded = decode(out.view(), {Kind::chunked}, piece, whole.size());
  RC_ASSERT(decoded.progress == Progress::complete);
  RC_ASSERT(decoded.body == whole);
  RC_ASSERT(decoded.trailers == "A=b;");
}

}  // namespace
}  // namespace weir::wire::http

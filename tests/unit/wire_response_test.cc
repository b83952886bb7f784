#include <gtest/gtest.h>

#include <string>

#include "wire/http_response.h"

namespace weir::wire::http {
namespace {

using Kind = Framing::Kind;

struct Parsed {
  Progress progress;
  ResponseHead head;
};

Parsed parse(std::string_view bytes, Method request = Method::get) {
  ResponseParser parser(Limits{});
  Parsed parsed{};
  parsed.progress = parser.parse(bytes, request, parsed.head);
  if (parsed.progress == Progress::failed) {
    EXPECT_EQ(parser.refusal().status, 502);
  }
  return parsed;
}

bool refused(std::string_view bytes) { return parse(bytes).progress == Progress::failed; }

TEST(HttpResponse, GivesTheHeadAsViews) {
  const Parsed parsed = parse("HTTP/1.1 404 Not  Found\r\nContent-Length: 3\r\nA: b\r\n\r\nabc");
  ASSERT_EQ(parsed.progress, Progress::complete);
  EXPECT_EQ(parsed.head.status(), 404);
  EXPECT_EQ(parsed.head.reason(), "Not  Found");
  EXPECT_EQ(parsed.head.body(), (Framing{Kind::length, 3}));
  EXPECT_EQ(parsed.head.fields().find("a"), "b");
  EXPECT_TRUE(parsed.head.keep_alive());
  EXPECT_EQ(parse("HTTP/1.1 200\r\n\r\n").head.status(), 200);
  EXPECT_EQ(parse("HTTP/1.1 200 \r\n\r\n").head.reason(), "");
}

TEST(HttpResponse, FindsTheEndOfTheBodyByRequestAndStatus) {
  const auto kind = [](std::string_view bytes, Method request = Method::get) {
    return parse(bytes, request).head.body().kind;
  };
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), Kind::length);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Kind::chunked);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\n\r\n"), Kind::until_close);
  EXPECT_EQ(kind("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), Kind::until_close);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", Method::head), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Method::head), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"), Kind::none);
  EXPECT_EQ(parse("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n").head.length(), 3U);
  EXPECT_EQ(kind("HTTP/1.1 204 No Content\r\n\r\n"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 100 Continue\r\n\r\n"), Kind::none);
}

TEST(HttpResponse, KnowsInterimResponsesAndWhetherTheConnectionLasts) {
  EXPECT_TRUE(parse("HTTP/1.1 103 Early Hints\r\n\r\n").head.interim());
  EXPECT_FALSE(parse("HTTP/1.1 101 Switching\r\n\r\n").head.interim());
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\n\r\n").head.keep_alive()) << "the end of the connection is its end";
  EXPECT_FALSE(parse("HTTP/1.1 204 N\r\nConnection: close\r\n\r\n").head.keep_alive());
  EXPECT_FALSE(parse("HTTP/1.0 204 N\r\n\r\n").head.keep_alive());
  EXPECT_TRUE(parse("HTTP/1.0 204 N\r\nConnection: keep-alive\r\n\r\n").head.keep_alive());
}

TEST(HttpResponse, RefusesWhatCouldBeReadInTwoWays) {
  EXPECT_TRUE(refused("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"));
  EXPECT_TRUE(refused("HTTP/1.1 200 OK\nA: b\r\n\r\n"));
  EXPECT_TRUE(refused("\r\nHTTP/1.1 200 OK\r\n\r\n"));
  for (const char* line :
       {"HTTP/1.1 2x0 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 600 X", "HTTP/1.1 099 X",
        "HTTP/2.0 200 OK", "HTTP/1.1  200 OK", "ICY 200 OK", "", "HTTP/1.1 ", "HTTP/1.1 200 \x01"}) {
    EXPECT_TRUE(refused(std::string(line) + "\r\n\r\n")) << line;
  }
}

}  // namespace
}  // namespace weir::wire::http

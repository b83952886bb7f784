#include <gtest/gtest.h>

#include <string>

#include "wire/http_request.h"

namespace weir::wire::http {
namespace {

struct Parsed {
  Progress progress;
  int status;
  std::size_t size;
  RequestHead head;
};

Parsed parse(std::string_view bytes, const Limits& limits = {}) {
  RequestParser parser(limits);
  Parsed parsed{};
  parsed.progress = parser.parse(bytes, parsed.head);
  parsed.status = parsed.progress == Progress::failed ? parser.refusal().status : 0;
  parsed.size = parser.size();
  return parsed;
}

/// The status with which a request of these fields is refused; 0 if it is accepted.
int status_of(const std::string& fields, std::string_view line = "POST / HTTP/1.1") {
  const std::string bytes = std::string(line) + "\r\n" + fields + "\r\n";
  const Parsed parsed = parse(bytes);
  EXPECT_NE(parsed.progress, Progress::need_more) << bytes;
  return parsed.status;
}

int status_of_line(std::string_view line) { return status_of("Host: a\r\n", line); }

TEST(HttpRequest, GivesTheHeadAsViews) {
  const std::string bytes =
      "POST /a/b?c=d&e HTTP/1.1\r\nHost: example.org:80\r\nX-One:\t 1 \r\nx-empty:\r\n"
      "Content-Length: 12\r\n\r\nhello";
  const Parsed parsed = parse(bytes);
  ASSERT_EQ(parsed.progress, Progress::complete);
  const RequestHead& head = parsed.head;
  EXPECT_EQ(parsed.size, bytes.size() - 5);
  EXPECT_EQ(head.method(), Method::post);
  EXPECT_EQ(head.target(), "/a/b?c=d&e");
  EXPECT_EQ(head.path(), "/a/b");
  EXPECT_EQ(head.query(), "c=d&e");
  EXPECT_EQ(head.host(), "example.org:80");
  EXPECT_EQ(head.version(), Version::http_1_1);
  EXPECT_EQ(head.body(), (Framing{Framing::Kind::length, 12}));
  EXPECT_TRUE(head.keep_alive());
  ASSERT_EQ(head.fields().size(), 4U);
  EXPECT_EQ(head.fields()[1].name, "X-One");
  EXPECT_EQ(head.fields().find("x-one"), "1");
  EXPECT_EQ(head.fields().find("X-EMPTY"), "");
  EXPECT_FALSE(head.fields().find("x-other"));
}

TEST(HttpRequest, SurvivesABufferThatMovesWhileItArrives) {
  const std::string bytes = "GET http://one/p?q HTTP/1.1\r\nHost: two\r\nA: b\r\n\r\n";
  RequestParser parser(Limits{});
  RequestHead head;
  std::string arrived;
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    arrived = std::string(bytes, 0, i + 1);
    ASSERT_EQ(parser.parse(arrived, head), Progress::need_more) << i;
  }
  ASSERT_EQ(parser.parse(bytes, head), Progress::complete);
  EXPECT_EQ(head.host(), "one") << "the host in the target outranks the field";
  EXPECT_EQ(head.path(), "/p");
  EXPECT_EQ(head.fields().find("a"), "b");
  const std::string moved(bytes.begin(), bytes.end());
  head.rebase(moved.data());
  EXPECT_EQ(head.fields().find("a")->data(), moved.data() + bytes.find("b\r\n\r\n"));
}

TEST(HttpRequest, LeavesTheNextRequestInTheBuffer) {
  const std::string bytes = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
  RequestParser parser(Limits{});
  RequestHead head;
  ASSERT_EQ(parser.parse(bytes, head), Progress::complete);
  EXPECT_EQ(head.path(), "/1");
  const std::string_view rest = std::string_view(bytes).substr(parser.size());
  parser.clear();
  ASSERT_EQ(parser.parse(rest, head), Progress::complete) << "one blank line in front is passed over";
  EXPECT_EQ(head.path(), "/2");
  EXPECT_EQ(parser.size(), rest.size());
  EXPECT_EQ(parse("\r\n\r\nGET / HTTP/1.1\r\n").status, 400);
}

TEST(HttpRequest, RefusesMalformedRequestLines) {
  EXPECT_EQ(status_of_line("GET / HTTP/1.1"), 0);
  EXPECT_EQ(status_of_line("GET /"), 400);
  EXPECT_EQ(status_of_line("GET  / HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET / HTTP/1.1 "), 400);
  EXPECT_EQ(status_of_line(" GET / HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET /a b HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("G@T / HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET /\x01 HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET /\xc3\xa9 HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET /#f HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET a HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET * HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("OPTIONS * HTTP/1.1"), 0);
  EXPECT_EQ(status_of_line("GET ftp://a/ HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET http:///x HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET http://u@h/x HTTP/1.1"), 400);
  EXPECT_EQ(status_of_line("GET http://h HTTP/1.1"), 0);
  EXPECT_EQ(status_of_line("CONNECT a:80 HTTP/1.1"), 501);
  EXPECT_EQ(status_of_line("BREW / HTTP/1.1"), 0);
}

TEST(HttpRequest, RefusesOtherVersions) {
  EXPECT_EQ(status_of_line("GET / HTTP/2.0"), 505);
  EXPECT_EQ(status_of_line("GET / HTTP/1.2"), 505);
  EXPECT_EQ(status_of_line("GET / http/1.1"), 400);
  EXPECT_EQ(status_of_line("GET / HTTP/1.10"), 400);
  EXPECT_EQ(parse("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status, 505);
}

TEST(HttpRequest, NeedsExactlyOneGoodHost) {
  EXPECT_EQ(status_of(""), 400);
  EXPECT_EQ(status_of("Host: a\r\nhost: a\r\n"), 400);
  EXPECT_EQ(status_of("Host:\r\n"), 0);
  EXPECT_EQ(status_of("Host: a.b-c:8080\r\n"), 0);
  EXPECT_EQ(status_of("Host: [::1]:8080\r\n"), 0);
  for (const char* bad :
       {"a b", "a,b", "a/b", "u@a", "a:b", "a:123456", "[::1", "[::1]x", "::1", ":80", "[g]", "a:80:80"}) {
    EXPECT_EQ(status_of(std::string("Host: ") + bad + "\r\n"), 400) << bad;
  }
  EXPECT_EQ(parse("GET / HTTP/1.0\r\n\r\n").progress, Progress::complete);
  EXPECT_EQ(parse("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").status, 400);
}

TEST(HttpRequest, RefusesWhateverCouldHideARequest) {
  const auto with_host = [](const std::string& fields) { return status_of("Host: a\r\n" + fields); };
  EXPECT_EQ(with_host("Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: 5\r\nContent-Length: 6\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: 5, 5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: +5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: -5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: 0x5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: 5 5\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length:\r\n"), 400);
  EXPECT_EQ(with_host("Content-Length: 99999999999999999999\r\n"), 413);
  EXPECT_EQ(with_host("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: chunked, chunked\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: chunked, identity\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: \x0b"
                      "chunked\r\n"),
            400);
  EXPECT_EQ(with_host("Transfer-Encoding: chunked;a=b\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding:\r\n"), 400);
  EXPECT_EQ(with_host("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(with_host("Transfer-Encoding: identity\r\n"), 501);
  EXPECT_EQ(with_host("Transfer-Encoding: xchunked\r\n"), 501);
  EXPECT_EQ(with_host("Transfer-Encoding: CHUNKED\r\n"), 0);
  EXPECT_EQ(with_host("Transfer-Encoding : chunked\r\n"), 400);
  EXPECT_EQ(with_host("X: a\r\n b\r\n"), 400);
  EXPECT_EQ(with_host("X: a\r\n\tb\r\n"), 400);
  EXPECT_EQ(with_host(" X: a\r\n"), 400);
  EXPECT_EQ(with_host("X: a\nY: b\r\n"), 400);
  EXPECT_EQ(with_host("X: a\rY: b\r\n"), 400);
  EXPECT_EQ(with_host("X: a\r\r\n"), 400);
  EXPECT_EQ(with_host(std::string("X: a\0b\r\n", 8)), 400);
  EXPECT_EQ(with_host("X: a\x7f\r\n"), 400);
  EXPECT_EQ(with_host("X\r\n"), 400);
  EXPECT_EQ(with_host(": a\r\n"), 400);
  EXPECT_EQ(with_host("X(y): a\r\n"), 400);
  EXPECT_EQ(with_host("Connection: a b\r\n"), 400);
  EXPECT_EQ(with_host("X: caf\xc3\xa9\r\n"), 0);
  EXPECT_EQ(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").status, 400);
  EXPECT_EQ(parse("POST / HTTP/1.0\r\n\r\n").status, 411);
  EXPECT_EQ(parse("GET / HTTP/1.1\n").status, 400) << "at once, without waiting for more";
}

TEST(HttpRequest, KeepsTheConnectionAsTheVersionsSay) {
  const auto keeps = [](std::string_view version, const std::string& connection) {
    const std::string bytes = "GET / " + std::string(version) + "\r\nHost: a\r\n" + connection + "\r\n";
    const Parsed parsed = parse(bytes);
    EXPECT_EQ(parsed.progress, Progress::complete);
    return parsed.head.keep_alive();
  };
  EXPECT_TRUE(keeps("HTTP/1.1", ""));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: keep-alive, Close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", ""));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
}

TEST(HttpRequest, KnowsExpectAndUpgrade) {
  const auto expects = [](const std::string& bytes) { return parse(bytes).head.expects_continue(); };
  EXPECT_TRUE(expects("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_FALSE(expects("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(expects("PUT / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
  EXPECT_EQ(status_of("Host: a\r\nExpect: magic\r\n"), 417);
  EXPECT_EQ(status_of("Host: a\r\nExpect: 100-continue\r\nExpect: 100-continue\r\n"), 417);
  EXPECT_TRUE(
      parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Upgrade\r\nUpgrade: w\r\n\r\n").head.upgrade());
  EXPECT_FALSE(parse("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: w\r\n\r\n").head.upgrade());
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: w\r\n\r\n").head.upgrade());
}

TEST(HttpRequest, HoldsToItsLimits) {
  const Limits limits{.start_line = 30, .head = 80, .fields = 3};
  const auto status = [&](const std::string& bytes) { return parse(bytes, limits).status; };
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status("GET /" + std::string(16, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /" + std::string(17, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(status(std::string(31, 'a')), 414) << "before the line has ended";
  EXPECT_EQ(status(std::string(30, 'a')), 0);
  EXPECT_EQ(status(start + "A: b\r\nB: c\r\n\r\n"), 0);
  EXPECT_EQ(status(start + "A: b\r\nB: c\r\nC: d\r\n\r\n"), 431);
  EXPECT_EQ(status(start + "A: " + std::string(48, 'b') + "\r\n\r\n"), 0);
  EXPECT_EQ(status(start + "A: " + std::string(49, 'b') + "\r\n\r\n"), 431);
  EXPECT_EQ(status(start + std::string(60, 'b')), 431) << "before the line has ended";
}

}  // namespace
}  // namespace weir::wire::http

#include "client/server_url.h"

#include <gtest/gtest.h>

namespace weir::client {
namespace {

std::string parts(const char* text) {
  const auto url = parse_server_url(text);
  if (!url) return url.error().message;
  return std::string(url->tls ? "tls " : "") + url->host + " " + std::to_string(url->port) + " " +
         url->prefix;
}

TEST(ServerUrl, HasAHostAPortAndMaybeAPrefix) {
  EXPECT_EQ(parts("http://127.0.0.1:8080"), "127.0.0.1 8080 ");
  EXPECT_EQ(parts("http://example.org"), "example.org 80 ");
  EXPECT_EQ(parts("https://example.org/"), "tls example.org 443 ");
  EXPECT_EQ(parts("https://[::1]:8443"), "tls ::1 8443 ");
  EXPECT_EQ(parts("http://[2001:db8::7]"), "2001:db8::7 80 ");
  EXPECT_EQ(parts("https://example.org/limits/eu//"), "tls example.org 443 /limits/eu");
  EXPECT_EQ(parts("http://a_b-c.local:1/%20"), "a_b-c.local 1 /%20");
  EXPECT_EQ(parse_server_url("http://a/b/")->text, "http://a/b");
}

TEST(ServerUrl, SaysWhatToWriteInstead) {
  EXPECT_EQ(parts("localhost:8080"),
            "\"localhost:8080\": begin with http:// or https://, such as http://localhost:8080");
  EXPECT_EQ(parts(""), "\"\": begin with http:// or https://, such as http://127.0.0.1:8080");
  EXPECT_EQ(parts("redis://a"), "\"redis://a\": a service is reached by http:// or https://");
  EXPECT_EQ(parts("sqlite:weir.db"), "\"sqlite:weir.db\": a service is reached by http:// or https://");
  EXPECT_EQ(parts("http://"), "\"http://\": it names no host; write http://HOST:PORT");
  EXPECT_EQ(parts("http:///x"), "\"http:///x\": it names no host; write http://HOST:PORT");
  EXPECT_EQ(parts("http://::1:80"),
            "\"http://::1:80\": write an IPv6 address in brackets, such as http://[::1]:8080");
  for (const char* const text : {"http://[::1", "http://[127.0.0.1]", "http://[]:1", "http://[x]"})
    EXPECT_NE(parts(text).find("what is in brackets must be an IPv6 address"), std::string::npos) << text;
  EXPECT_NE(parts("http://[::1]8080").find("a port follows as :8080"), std::string::npos);
  for (const char* const text : {"http://a:0", "http://a:65536", "http://a:", "http://a:x", "http://a:-1"})
    EXPECT_NE(parts(text).find("a port is 1 to 65535"), std::string::npos) << text;
  EXPECT_EQ(parts("http://me:hunter2@a"),
            "a URL must not have a user or a password in it; put the token in WEIR_TOKEN");
  EXPECT_NE(parts("http://a?x=1").find("leave out what follows ? or #"), std::string::npos);
  EXPECT_NE(parts("http://a/#x").find("leave out what follows ? or #"), std::string::npos);
  EXPECT_NE(parts("http://a/b c").find("must be escaped"), std::string::npos);
  EXPECT_NE(parts("http://a/\r\nX: y").find("must be escaped"), std::string::npos);
  EXPECT_NE(parts("http://a b").find("it names no host"), std::string::npos);
  EXPECT_NE(parts("http://a/v1/").find("leave out the /v1 at its end"), std::string::npos);
}

}  // namespace
}  // namespace weir::client

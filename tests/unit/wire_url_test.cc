#include <gtest/gtest.h>

#include "wire/url.h"

namespace weir::wire {
namespace {

std::string parts(std::string_view text) {
  const auto url = parse_url(text);
  if (!url) return url.error().message;
  return url->scheme + (url->has_user ? " " + url->user + ":" + url->password : "") + " " + url->host + " " +
         (url->port ? std::to_string(*url->port) : "-") + " " + url->path + " " + url->query;
}

TEST(Url, HasTheseParts) {
  EXPECT_EQ(parts("http://a"), "http a -  ");
  EXPECT_EQ(parts("https://a.b-c_d:8443/x/y?z=1&w"), "https a.b-c_d 8443 /x/y z=1&w");
  EXPECT_EQ(parts("redis://[::1]:1/2"), "redis ::1 1 /2 ");
  EXPECT_EQ(parts("redis://[fe80::1%eth0]"), "redis fe80::1%eth0 -  ");
  EXPECT_EQ(parts("redis://me:p%40s/s@a"), "a port is 1 to 65535") << "a / ends the authority";
  EXPECT_EQ(parts("redis://me:p%40s%2Fs@a?x=/"), "redis me:p@s/s a -  x=/");
  EXPECT_EQ(parts("redis://:p@ss@a:7"), "redis :p@ss a 7  ");
  EXPECT_EQ(parts("redis://me@a"), "redis me: a -  ");
  EXPECT_EQ(parts("redis://a?"), "redis a -  ");
}

TEST(Url, SaysWhatToWriteInstead) {
  EXPECT_EQ(parts("a:1"), "begin with a scheme, such as http://");
  EXPECT_EQ(parts("://a"), "begin with a scheme, such as http://");
  for (const char* const text : {"http://a#b", "http://t#@:/:", "http://a/b#c?d"})
    EXPECT_EQ(parts(text), "it must not have a fragment; write # as %23") << text;
  for (const char* const text :
       {"redis://", "redis://:1", "redis:///x", "redis://?x", "redis://a b", "redis://a\n"})
    EXPECT_EQ(parts(text), "it names no host; write redis://HOST:PORT") << text;
  EXPECT_EQ(parts("http://::1:80"), "write an IPv6 address in brackets, such as http://[::1]:8080");
  for (const char* const text : {"http://[::1", "http://[127.0.0.1]", "http://[]:1", "http://[x]"})
    EXPECT_EQ(parts(text), "what is in brackets must be an IPv6 address, such as [::1]") << text;
  EXPECT_EQ(parts("http://[::1]8080"), "a port follows as :8080");
  for (const char* const text : {"http://a:0", "http://a:65536", "http://a:", "http://a:x", "http://a:-1"})
    EXPECT_EQ(parts(text), "a port is 1 to 65535") << text;
  for (const char* const text : {"redis://a:secret%4@h", "redis://%x@h"})
    EXPECT_EQ(parts(text), "the user or the password has a broken % escape") << text;
}

TEST(Url, OfHttpHasAPortAndNoUser) {
  EXPECT_EQ(parse_http_url("http://a")->at(), (HostPort{"a", 80}));
  EXPECT_EQ(parse_http_url("https://a")->at(), (HostPort{"a", 443}));
  EXPECT_EQ(parse_http_url("https://[::1]:7")->at().to_string(), "[::1]:7");
  EXPECT_EQ(parse_http_url("ftp://a").error().message, "write http://HOST:PORT or https://HOST:PORT");
  EXPECT_EQ(parse_http_url("http://me:secret@a").error().message,
            "it must not have a user or a password in it");
}

TEST(HostPort, IsReadAndWritten) {
  for (const char* const text : {"127.0.0.1:0", "[::1]:8080", "localhost:65535"})
    EXPECT_EQ(parse_host_port(text)->to_string(), text);
  for (const char* const text : {"", "a", ":1", "[::1]", "::1:80", "a:65536", "http://a:1", "a/b:1"})
    EXPECT_FALSE(parse_host_port(text)) << text;
  EXPECT_EQ(authority_of({"a", 80}, false), "a");
  EXPECT_EQ(authority_of({"a", 80}, true), "a:80");
  EXPECT_EQ(authority_of({"::1", 443}, true), "[::1]");
}

}  // namespace
}  // namespace weir::wire

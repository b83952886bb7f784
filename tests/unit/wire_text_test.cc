#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "wire/http_chars.h"
#include "wire/http_text.h"
#include "wire/http_write.h"

namespace weir::wire::http {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  return percent_decode(text, out) ? out : "malformed";
}

/// Each pair of bytes at each place of names of every size up to three words.
TEST(HttpChars, NamesAreComparedWithoutCaseWhereverTheyDiffer) {
  std::size_t compared = 0;
  for (std::size_t size = 1; size <= 24; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string a(size, 'x');
      std::string b(size, 'X');
      for (unsigned i = 0; i < 256; ++i) {
        for (unsigned j = 0; j < 256; j += (size > 9 ? 7 : 1), ++compared) {
          a[at] = static_cast<char>(i);
          b[at] = static_cast<char>(j);
          ASSERT_EQ(same_name(a, b), lower(a[at]) == lower(b[at]))
              << size << " " << at << " " << i << " " << j;
        }
        ASSERT_EQ(has_underscore(a), i == '_') << size << " " << at << " " << i;
      }
    }
  }
  EXPECT_GT(compared, 5'000'000U);
  EXPECT_FALSE(has_underscore(""));
}

TEST(HttpText, DecodesEscapes) {
  EXPECT_EQ(decoded("a%2Fb%20c+d"), "a/b c+d");
  EXPECT_EQ(decoded("%e2%82%AC"), "\xe2\x82\xac");
  for (const char* bad : {"%", "%2", "a%2", "%g0", "%0g", "%%41"})
    EXPECT_EQ(decoded(bad), "malformed") << bad;
}

TEST(HttpText, WalksPaths) {
  const auto walk = [](std::string_view path) {
    std::string all;
    PathSegments segments(path);
    for (std::string_view segment; segments.next(segment);) all += "[" + std::string(segment) + "]";
    return all;
  };
  EXPECT_EQ(walk("/v1/limits/entity/a%2Fb/gpt-4"), "[v1][limits][entity][a%2Fb][gpt-4]");
  EXPECT_EQ(walk("/"), "[]");
  EXPECT_EQ(walk("/a/"), "[a][]");
  EXPECT_EQ(walk("//a"), "[][a]");
  EXPECT_EQ(walk("*"), "");
}

TEST(HttpText, WalksQueries) {
  const auto walk = [](std::string_view query) {
    std::string all;
    std::string name;
    std::string value;
    QueryParameters parameters(query);
    while (true) {
      const auto next = parameters.next(name, value);
      if (next == QueryParameters::Next::end) return all;
      if (next == QueryParameters::Next::malformed) return std::string("malformed");
      all.append(name).append("=").append(value).append(";");
    }
  };
  EXPECT_EQ(walk(""), "");
  EXPECT_EQ(walk("entity=k%2F1&resource=gpt+4&x&&=y&a=b=c"), "entity=k/1;resource=gpt 4;x=;=y;a=b=c;");
  EXPECT_EQ(walk("a=%zz"), "malformed");
  std::string many;
  for (std::size_t i = 0; i < QueryParameters::most; ++i) many += "a&";
  EXPECT_NE(walk(many), "malformed");
  EXPECT_EQ(walk(many + "a"), "malformed");
}

TEST(HttpText, WalksLists) {
  const auto walk = [](std::string_view value) {
    std::string all;
    ListElements elements(value);
    for (std::string_view element; elements.next(element);) all += "[" + std::string(element) + "]";
    return all;
  };
  EXPECT_EQ(walk(" a ,b;q=\"x,\\\"y\", ,, c\t"), "[a][b;q=\"x,\\\"y\"][c]");
  EXPECT_EQ(walk(""), "");
  EXPECT_EQ(walk("\"unclosed, "), "[\"unclosed,]");
  EXPECT_TRUE(list_has("keep-alive, Upgrade", "upgrade"));
  EXPECT_FALSE(list_has("upgraded", "upgrade"));
}

TEST(HttpWrite, WritesWholeHeads) {
  Buffer fields;
  ASSERT_TRUE(write_field(fields, "Content-Type", "text/plain"));
  ASSERT_TRUE(write_field(fields, "Retry-After", 17));
  Buffer out;
  write_response_head(out, {.status = 429,
                            .body = {Framing::Kind::length, 2},
                            .keep_alive = false,
                            .date = "D",
                            .fields = fields.view()});
  EXPECT_EQ(out.view(),
            "HTTP/1.1 429 Too Many Requests\r\nDate: D\r\nContent-Length: 2\r\nConnection: close\r\n"
            "Content-Type: text/plain\r\nRetry-After: 17\r\n\r\n");
  out.clear();
  write_response_head(out, {.body = {Framing::Kind::chunked}, .request = Version::http_1_0});
  EXPECT_EQ(out.view(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n");
  out.clear();
  write_response_head(out, {.status = 299, .body = {Framing::Kind::none}});
  EXPECT_EQ(out.view(), "HTTP/1.1 299 \r\n\r\n");
  out.clear();
  write_interim(out, 100);
  write_request_line(out, "GET", "/a");
  EXPECT_EQ(out.view(), "HTTP/1.1 100 Continue\r\n\r\nGET /a HTTP/1.1\r\n");
}

TEST(HttpWrite, NeverWritesAFieldThatCouldEndItsLine) {
  Buffer out;
  EXPECT_FALSE(write_field(out, "A", "b\r\nC: d"));
  EXPECT_FALSE(write_field(out, "A", "b\n"));
  EXPECT_FALSE(write_field(out, "A", std::string_view("b\0", 2)));
  EXPECT_FALSE(write_field(out, "A B", "c"));
  EXPECT_FALSE(write_field(out, "", "c"));
  EXPECT_TRUE(out.empty());
}

TEST(HttpWrite, WritesDates) {
  const auto text = [](std::int64_t seconds) {
    const DateText date = format_date(seconds);
    return std::string(date.data(), date.size());
  };
  EXPECT_EQ(text(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(text(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(text(-5), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(text(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(text(4'107'542'400), "Mon, 01 Mar 2100 00:00:00 GMT");
  EXPECT_EQ(text(253'402'300'799), "Fri, 31 Dec 9999 23:59:59 GMT");
  // Every day for some centuries agrees with the standard library's calendar.
  for (std::int64_t day = 0; day < 200'000; ++day) {
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    const std::string written = text(day * 86'400);
    ASSERT_EQ(std::stoi(written.substr(5, 2)), static_cast<int>(static_cast<unsigned>(date.day()))) << day;
    ASSERT_EQ(std::stoi(written.substr(12, 4)), static_cast<int>(date.year())) << day;
  }
}

TEST(Buffer, KeepsItsBytesWhileItGrows) {
  Buffer buffer;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string part = std::to_string(1000 + i);
    buffer.append(part);
    expected += part;
    if (i % 7 == 0) {
      buffer.consume(3);
      expected.erase(0, 3);
    }
  }
  EXPECT_TRUE(buffer.view() == expected);
  buffer.consume(buffer.size());
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.room().size(), buffer.capacity());
}

}  // namespace
}  // namespace weir::wire::http

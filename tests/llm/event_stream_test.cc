// Events that pass: in pieces of every size the same events and the same bytes.
#include "llm/event_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "llm/find_either.h"

namespace weir::llm {
namespace {

struct Passed {
  std::vector<std::string> events;
  std::string bytes;
};

Passed pass(std::string_view stream, std::size_t piece, bool removes) {
  Passed passed;
  EventStream events;
  events.start(removes);
  const auto out = [&](std::string_view bytes) { passed.bytes += bytes; };
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    events.feed(
        stream.substr(at, piece),
        [&](std::string_view data) {
          passed.events.emplace_back(data);
          return removes && data == "drop" ? EventStream::Verdict::remove : EventStream::Verdict::pass;
        },
        out);
  }
  events.finish(out);
  return passed;
}

TEST(EventStream, ReadsEveryFormInPiecesOfEverySize) {
  const std::string_view forms[] = {
      "\xEF\xBB\xBF"
      "data: one\n\ndata:two\n\n: comment\n\nevent: x\ndata: 3\ndata: more\ndata\nid: 7\n\n",
      "\xEF\xBB\xBF"
      "data: one\r\n\r\ndata:two\r\n\r\n: comment\r\n\r\nevent: x\r\ndata: 3\r\ndata: more\r\ndata\r\nid: "
      "7\r\n\r\n",
      "\xEF\xBB\xBF"
      "data: one\r\rdata:two\r\r: comment\r\revent: x\rdata: 3\rdata: more\rdata\rid: 7\r\r",
  };
  for (const std::string_view form : forms) {
    for (std::size_t piece = 1; piece <= form.size(); ++piece) {
      for (const bool removes : {false, true}) {
        const Passed passed = pass(form, piece, removes);
        ASSERT_EQ(passed.events, (std::vector<std::string>{"one", "two", "3\nmore\n"})) << piece;
        ASSERT_EQ(passed.bytes, form) << piece;
      }
    }
  }
}

TEST(EventStream, TakesAnEventOutWhateverTheBordersOfPieces) {
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    std::string stream;
    std::string kept;
    for (const std::string_view data : {"a", "drop", "b", "drop", "[DONE]"}) {
      const std::string event = std::string("data: ").append(data).append(end).append(end);
      stream += event;
      if (data != "drop") kept += event;
    }
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
      const Passed passed = pass(stream, piece, true);
      ASSERT_EQ(passed.events.size(), 5U);
      ASSERT_EQ(passed.bytes, kept) << "pieces of " << piece;
    }
  }
}

TEST(EventStream, EndsAnEventInThePieceThatEndsIt) {
  EventStream events;
  events.start(true);
  std::string out;
  const auto passes = [&](std::string_view bytes) { out += bytes; };
  const auto keeps = [](std::string_view) { return EventStream::Verdict::pass; };
  events.feed("data: a\n\nda", keeps, passes);
  EXPECT_EQ(out, "data: a\n\n");
  events.feed("ta: b\n", keeps, passes);
  EXPECT_EQ(out, "data: a\n\n");
  events.feed("\n", keeps, passes);
  EXPECT_EQ(out, "data: a\n\ndata: b\n\n");
  events.feed("data: cut", keeps, passes);
  events.finish(passes);
  EXPECT_EQ(out, "data: a\n\ndata: b\n\ndata: cut");
}

TEST(EventStream, OfAHostileVendorHoldsLittle) {
  EventStream events;
  events.start(true);
  std::size_t passed = 0;
  int seen = 0;
  const auto passes = [&](std::string_view bytes) { passed += bytes.size(); };
  const auto keeps = [&](std::string_view) {
    ++seen;
    return EventStream::Verdict::pass;
  };
  const std::string block(64 * maxima::kib, 'x');
  events.feed("data: ", keeps, passes);
  constexpr int blocks = 1000;
  for (int i = 0; i < blocks; ++i) {
    events.feed(block, keeps, passes);
    EXPECT_LE(6 + std::size_t(i + 1) * block.size() - passed, EventStream::largest + block.size());
  }
  events.feed("\n\ndata: after\n\n", keeps, passes);
  EXPECT_EQ(passed, 6 + blocks * block.size() + 15);
  EXPECT_EQ(seen, 1) << "the endless event is not read, the next one is";
}

TEST(EventStream, ReportsALargeEventInParts) {
  for (const bool removes : {false, true}) {
    EventStream events;
    events.start(removes);
    std::string passed;
    std::string parts;
    int begun = 0;
    int seen = 0;
    const auto passes = [&](std::string_view bytes) { passed += bytes; };
    const auto keeps = [&](std::string_view) {
      ++seen;
      return EventStream::Verdict::pass;
    };
    const auto takes = [&](const EventStream::Part& part) {
      parts += part.bytes;
      begun += part.begins ? 1 : 0;
    };
    const std::string large = "data: " + std::string(3 * EventStream::largest, 'x') + "\n\n";
    const std::string stream = "data: a\n\n" + large + large + "data: b\n\n";
    for (std::size_t at = 0; at < stream.size(); at += 10'000)
      events.feed(std::string_view(stream).substr(at, 10'000), keeps, passes, takes);
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(begun, 2);
    EXPECT_TRUE(parts == large + large) << parts.size();
    EXPECT_TRUE(passed == stream) << passed.size();
  }
}

TEST(FindEither, FindsTheFirstOfBothWhereverItIs) {
  for (std::size_t size = 0; size < 300; ++size) {
    for (const std::size_t other : {std::size_t{0}, size / 2, size}) {
      std::string text(600, 'x');
      EXPECT_EQ(find_either(text, 'a', 'b', other), std::string_view::npos);
      text[size] = 'a';
      text[size + other] = 'b';
      EXPECT_EQ(find_either(text, 'a', 'b'), size);
      EXPECT_EQ(find_either(text, 'b', 'a'), size);
      EXPECT_EQ(find_either(text, 'b', 'c', size / 2), size + other);
    }
  }
}

TEST(FindEither, LooksAtLittleMoreThanItPassesWhicheverComes) {
  for (const std::string_view found : {"\r", "\n"}) {
    for (const std::size_t apart : {1U, 2U, 70U, 5000U}) {
      std::string text;
      while (text.size() < 256 * maxima::kib) text.append(apart - 1, 'x').append(found);
      std::size_t looked_at = 0;
      for (std::size_t at = 0; at < text.size(); ++at) {
        at = find_either(text, '\n', '\r', at, &looked_at);
        ASSERT_LT(at, text.size());
      }
      EXPECT_LE(looked_at, 70 * text.size()) << "each byte, and at most a small window again";
    }
  }
}

}  // namespace
}  // namespace weir::llm

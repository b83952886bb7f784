// Reads the usage of an answer while it passes: whole JSON answers, and the events of streams. Keeps little,
// whatever the size of the answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/maxima.h"
#include "llm/endpoint.h"
#include "llm/usage.h"

namespace weir::llm {

/// What an answer has shown so far.
struct Observed {
  ReportedUsage usage;
  bool any_usage = false;
  std::int64_t text_bytes = 0;   ///< of the output, as JSON writes it
  std::int64_t text_events = 0;  ///< events with output; each has at least one token
  bool ended = false;            ///< the stream has said that it ends; what follows is ignored

  /// The output tokens that the text has at least, and probably.
  std::int64_t counted_output() const;
};

/// One event of a stream.
struct EventKind {
  bool only_usage = false;  ///< an OpenAI chunk that has usage and no choices
};
EventKind read_event(Api api, std::string_view data, Observed& observed);

/// Finds the usage in JSON that comes in pieces of any size: in an answer the member of the outermost object,
/// or of each object of an outermost array (Gemini without SSE); in an event of a stream also that of the
/// object in it which read_event() looks into. What surrounds an event is skipped.
class UsageScanner {
 public:
  enum class Text : std::uint8_t { answer, event };
  void start(Api api, Text text = Text::answer);
  void feed(std::string_view bytes, Observed& observed);

 private:
  void take(char c, Observed& observed);
  void take_in_string(char c);
  void open(char c);
  void close(Observed& observed);
  void finish_value(Observed& observed);
  /// The depth of the object whose members may be the usage now.
  unsigned depth_of_usage() const { return members_at_ + (inside_ ? 1U : 0U); }
  /// Of the value; a larger one is no usage.
  static constexpr std::size_t largest = 16 * maxima::kib;

  Api api_ = Api::other;
  std::string_view inner_;  ///< the member whose object may have the usage, too; empty: none
  unsigned depth_ = 0;
  unsigned members_at_ = 1;  ///< the depth of the outermost object
  bool inside_ = false;      ///< in the object of that member
  bool started_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_key_ = false;         ///< the next text of this depth is a name
  bool captures_ = false;       ///< the value of the usage is being read
  bool found_ = false;          ///< the last name was the one of the usage
  bool enters_ = false;         ///< the last name was the inner one
  std::array<char, 16> key_{};  ///< the name read so far, as far as it fits
  std::size_t key_size_ = 0;
  std::string value_;
};

}  // namespace weir::llm

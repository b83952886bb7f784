// Reads the usage of an answer while it passes: whole JSON answers, and the events of streams. Keeps little,
// whatever the size of the answer.
#pragma once

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

/// Finds the usage in a JSON answer that comes in pieces of any size: the member of the outermost object, or
/// of each object of an outermost array (Gemini without SSE).
class UsageScanner {
 public:
  void start(Api api);
  void feed(std::string_view bytes, Observed& observed);

 private:
  void take(char c, Observed& observed);
  void finish_value(Observed& observed);
  /// Of the value; a larger one is no usage.
  static constexpr std::size_t largest = 16 * maxima::kib;

  Api api_ = Api::other;
  unsigned depth_ = 0;
  unsigned members_at_ = 1;  ///< the depth of the object whose members are read
  bool started_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_key_ = false;    ///< the next text of this depth is a name
  bool captures_ = false;  ///< the value of the usage is being read
  bool key_fits_ = false;  ///< the name read so far may still be the one of the usage
  bool found_ = false;     ///< the last name was
  std::size_t key_size_ = 0;
  std::string value_;
};

}  // namespace weir::llm

// Server-sent events (WHATWG HTML, 9.2) that pass: each event is read, and bytes leave as they came. An event
// can be taken out of the stream.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/maxima.h"

namespace weir::llm {

/// Line ends are LF, CRLF or CR. The pieces may end anywhere.
class EventStream {
 public:
  enum class Verdict : bool { pass, remove };

  /// `removes`: on_event may return Verdict::remove. Then an event leaves when its end has arrived; otherwise
  /// every byte leaves at once.
  void start(bool removes);

  /// A part of an event that is too large to be held. Its lines are as they came.
  struct Part {
    std::string_view bytes;
    bool begins = false;  ///< the first one of its event
  };
  struct IgnoreParts {
    void operator()(const Part& /*part*/) const {}
  };

  /// Calls on_event(data) for each event that these bytes complete, and pass(bytes) for those that leave, in
  /// order. An event without data is not reported. The views are valid during the call. Calls on_part(part)
  /// for each part of an event that is too large.
  template <class OnEvent, class Pass, class OnPart = IgnoreParts>
  void feed(std::string_view bytes, OnEvent&& on_event, Pass&& pass, OnPart&& on_part = {});

  /// At the end of the stream: the bytes that were held back. An event without its blank line is no event.
  template <class Pass>
  void finish(Pass&& pass) {
    if (removes_ && !held_.empty()) pass(std::string_view(held_));
    held_.clear();
  }

  /// Of one event; a larger one leaves as it comes and is reported in parts.
  static constexpr std::size_t largest = 256 * maxima::kib;

 private:
  /// The offset after the end of the event that begins at `text`'s start, which has been scanned up to
  /// scanned_; 0 if it has not ended.
  std::size_t find_end(std::string_view text);
  /// The data of a whole event; its lines are joined by LF.
  std::string_view data_of(std::string_view event);

  bool removes_ = false;
  bool too_large_ = false;     ///< the event under way is reported in parts
  bool line_is_empty_ = true;  ///< nothing was read yet of the line under way
  bool after_cr_ = false;      ///< a LF that comes next belongs to the line end before it
  bool first_ = true;          ///< no event was read yet: a byte order mark may come
  Verdict last_ = Verdict::pass;
  std::size_t scanned_ = 0;
  std::string held_;  ///< the event under way, as far as it came with earlier pieces
  std::string data_;
};

template <class OnEvent, class Pass, class OnPart>
void EventStream::feed(std::string_view bytes, OnEvent&& on_event, Pass&& pass, OnPart&& on_part) {
  if (bytes.empty()) return;
  if (!removes_) pass(bytes);
  std::string_view rest = bytes;
  // The end of the line that ended the last event.
  if (held_.empty() && after_cr_ && rest[0] == '\n') {
    if (removes_ && last_ == Verdict::pass) pass(rest.substr(0, 1));
    rest.remove_prefix(1);
    after_cr_ = false;
  }
  while (!rest.empty()) {
    const bool begun = !held_.empty();
    // The usual event comes whole and is read in place.
    if (begun) held_ += rest;
    const std::size_t before = begun ? held_.size() - rest.size() : 0;
    const std::size_t end = find_end(begun ? std::string_view(held_) : rest);
    if (end == 0) {
      if (!begun) held_ = rest;
      if (held_.size() <= largest) return;
      if (removes_) pass(std::string_view(held_));
      on_part(Part{held_, !std::exchange(too_large_, true)});
      held_.clear();
      scanned_ = 0;
      return;
    }
    const std::string_view event = begun ? std::string_view(held_).substr(0, end) : rest.substr(0, end);
    last_ = Verdict::pass;
    if (std::exchange(too_large_, false)) {
      on_part(Part{event});
    } else if (const std::string_view data = data_of(event); data.data() != nullptr) {
      last_ = on_event(data);
    }
    if (removes_ && last_ == Verdict::pass) pass(event);
    rest.remove_prefix(end - before);
    held_.clear();
    scanned_ = 0;
  }
}

}  // namespace weir::llm

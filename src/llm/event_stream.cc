#include "llm/event_stream.h"

#include "llm/find_either.h"

namespace weir::llm {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

void EventStream::start(bool removes) {
  removes_ = removes;
  too_large_ = after_cr_ = false;
  line_is_empty_ = first_ = true;
  last_ = Verdict::pass;
  scanned_ = 0;
  held_.clear();
}

std::size_t EventStream::find_end(std::string_view text) {
  while (scanned_ < text.size()) {
    // A LF after a CR ends no further line.
    if (after_cr_ && text[scanned_] == '\n') {
      after_cr_ = false;
      ++scanned_;
      continue;
    }
    after_cr_ = false;
    const std::size_t at = find_either(text, '\n', '\r', scanned_);
    if (at == std::string_view::npos) {
      line_is_empty_ = false;
      scanned_ = text.size();
      return 0;
    }
    const bool blank = line_is_empty_ && at == scanned_;
    scanned_ = at + 1;
    line_is_empty_ = true;
    if (text[at] == '\r') {
      if (scanned_ < text.size() && text[scanned_] == '\n') {
        ++scanned_;
      } else {
        after_cr_ = scanned_ == text.size();
      }
    }
    if (blank) return scanned_;
  }
  return 0;
}

std::string_view EventStream::data_of(std::string_view event) {
  if (std::exchange(first_, false) && event.starts_with(byte_order_mark))
    event.remove_prefix(byte_order_mark.size());
  std::string_view data;  // null: there is none
  bool joined = false;
  while (!event.empty()) {
    const std::size_t end = find_either(event, '\n', '\r');
    std::string_view line = event.substr(0, end);
    event.remove_prefix(end == std::string_view::npos ? event.size() : end + 1);
    if (!line.starts_with("data")) continue;
    line.remove_prefix(4);
    if (!line.empty() && line[0] != ':') continue;
    if (!line.empty()) line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (data.data() == nullptr) {
      data = line;
      if (data.data() == nullptr) data = "";
      continue;
    }
    if (!joined) data_ = data;
    joined = true;
    data_ += '\n';
    data_ += line;
    data = data_;
  }
  return data;
}

}  // namespace weir::llm

#include "llm/answer_reader.h"

#include <algorithm>
#include <utility>

#include "llm/find_either.h"

namespace weir::llm {
namespace {

using wire::json::Reader;

/// Members whose texts are output of the model.
bool is_output(std::string_view name) {
  switch (name.size()) {
    case 4:
      return name == "text";
    case 5:
      return name == "delta";
    case 7:
      return name == "content" || name == "refusal";
    case 8:
      return name == "thinking";
    case 9:
      return name == "arguments" || name == "reasoning";
    case 12:
      return name == "partial_json";
    case 17:
      return name == "reasoning_content";
    default:
      return false;
  }
}

/// The member of an event whose object may have the usage; empty: there is none.
std::string_view inner_member(Api api) {
  if (api == Api::responses) return "response";
  return api == Api::messages ? "message" : std::string_view();
}

/// Walks a value and adds up the texts of the model's output.
void count_text(Reader& reader, bool output, std::int64_t& bytes) {
  switch (reader.peek()) {
    case Reader::Kind::object: {
      std::string name;  // short names need no allocation
      for (reader.object(); reader.member(name);) count_text(reader, is_output(name), bytes);
      return;
    }
    case Reader::Kind::array:
      for (reader.array(); reader.element();) count_text(reader, output, bytes);
      return;
    case Reader::Kind::string: {
      std::string_view raw;
      if (reader.raw(raw) && output && raw.size() > 2) bytes += static_cast<std::int64_t>(raw.size() - 2);
      return;
    }
    default:
      reader.skip();
  }
}

struct EventReader {
  Api api;
  Observed& observed;
  EventKind kind = {};
  bool usage = false;
  bool no_choices = false;
  std::int64_t text = 0;

  /// The members of the event, or of the object in it that has the usage.
  void members(Reader& reader, bool outermost) {
    std::string name;
    for (reader.object(); reader.member(name);) {
      const bool inner = !name.empty() && name == inner_member(api);
      if (name == usage_member(api)) {
        usage = observed.usage.read(reader) || usage;
      } else if (outermost && inner && reader.peek() == Reader::Kind::object) {
        members(reader, false);
      } else if (outermost && name == "choices" && reader.peek() == Reader::Kind::array) {
        choices(reader);
      } else if (!outermost) {
        // The end of a stream repeats the whole output.
        reader.skip();
      } else {
        count_text(reader, is_output(name), text);
      }
    }
  }

  void choices(Reader& reader) {
    no_choices = true;
    for (reader.array(); reader.element();) {
      no_choices = false;
      count_text(reader, false, text);
    }
  }
};

}  // namespace

std::int64_t Observed::counted_output() const {
  constexpr std::int64_t bytes_per_token = 4;
  return std::min(std::max(text_events, text_bytes / bytes_per_token), most_tokens);
}

EventKind read_event(Api api, std::string_view data, Observed& observed) {
  if (observed.ended) return {};
  if (data == "[DONE]") {
    observed.ended = true;
    return {};
  }
  Reader reader(data);
  if (reader.peek() != Reader::Kind::object) return {};
  // An event counts as a whole or not at all.
  const ReportedUsage before = observed.usage;
  EventReader reading{.api = api, .observed = observed};
  reading.members(reader, true);
  if (!reader.end()) {
    observed.usage = before;
    return {};
  }
  observed.any_usage = observed.any_usage || reading.usage;
  observed.text_bytes += reading.text;
  if (reading.text > 0) ++observed.text_events;
  return {.only_usage = reading.usage && reading.no_choices};
}

void UsageScanner::start(Api api, Text text) {
  *this = UsageScanner();
  api_ = api;
  if (text == Text::event) inner_ = inner_member(api);
}

void UsageScanner::feed(std::string_view bytes, Observed& observed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // Most of an answer is inside of texts that do not matter.
    if (in_string_ && !escaped_ && !captures_ && !is_key_) {
      const std::size_t next = find_either(bytes, '"', '\\', i);
      if (next == std::string_view::npos) return;
      i = next;
    }
    take(bytes[i], observed);
  }
}

void UsageScanner::take(char c, Observed& observed) {
  if (captures_ && value_.size() < largest) value_ += c;
  if (in_string_) return take_in_string(c);
  switch (c) {
    case '"':
      in_string_ = true;
      key_size_ = 0;
      return;
    case '{':
    case '[':
      return open(c);
    case '}':
    case ']':
      return close(observed);
    case ',':
      if (depth_ == depth_of_usage()) {
        is_key_ = true;
        found_ = enters_ = false;
      }
      return;
    default:
      return;
  }
}

void UsageScanner::take_in_string(char c) {
  const bool ends = c == '"' && !escaped_;
  if (is_key_ && !ends) {
    if (key_size_ < key_.size()) key_[key_size_] = c;
    ++key_size_;
  }
  escaped_ = c == '\\' && !escaped_;
  if (!ends) return;
  in_string_ = false;
  if (!std::exchange(is_key_, false)) return;
  const std::string_view key(key_.data(), std::min(key_size_, key_.size()));
  found_ = key == usage_member(api_);
  enters_ = !inside_ && !inner_.empty() && key == inner_;
}

void UsageScanner::open(char c) {
  if (!started_ && c == '[') members_at_ = 2;
  started_ = true;
  if (!captures_ && depth_ == depth_of_usage()) {
    if (found_) {
      captures_ = true;
      value_ = c;
    } else if (enters_ && c == '{') {
      inside_ = true;
      enters_ = false;
    }
  }
  ++depth_;
  is_key_ = c == '{' && depth_ == depth_of_usage();
}

void UsageScanner::close(Observed& observed) {
  if (depth_ > 0) --depth_;
  if (captures_ && depth_ == depth_of_usage()) finish_value(observed);
  if (inside_ && depth_ == members_at_) inside_ = false;
  is_key_ = false;
}

void UsageScanner::finish_value(Observed& observed) {
  captures_ = found_ = false;
  if (value_.size() >= largest) return value_.clear();
  ReportedUsage read = observed.usage;
  Reader reader(value_);
  if (read.read(reader) && reader.end()) {
    observed.usage = read;
    observed.any_usage = true;
  }
  value_.clear();
}

}  // namespace weir::llm

// Writing JSON. Other rooms read it, where input enters the program.
#pragma once

#include <string>
#include <string_view>

namespace weir::base {

/// The text as a JSON string, quotes included. The text must be UTF-8; this is not checked.
std::string json_string(std::string_view text);
/// Appends the same to `out`.
void append_json_string(std::string& out, std::string_view text);

/// Builds one JSON object or array, member by member.
class JsonWriter {
 public:
  static JsonWriter object() { return JsonWriter('{', '}'); }
  static JsonWriter array() { return JsonWriter('[', ']'); }

  /// `value` is JSON already: a number, or the output of another writer.
  JsonWriter& raw(std::string_view name, std::string_view value);
  JsonWriter& text(std::string_view name, std::string_view value);
  JsonWriter& flag(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  JsonWriter& number(std::string_view name, long long value) { return raw(name, std::to_string(value)); }
  /// An element of an array.
  JsonWriter& add(std::string_view value);

  std::string str() const { return text_ + close_; }

 private:
  JsonWriter(char open, char close) : text_(1, open), close_(close) {}
  void separate() {
    if (text_.size() > 1) text_ += ',';
  }

  std::string text_;
  char close_;
};

}  // namespace weir::base

#include "base/json.h"

#include "base/text_writer.h"

namespace weir::base {

void append_json_string(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  out.resize(before + TextWriter::size_of_json(text));
  TextWriter writer(out.data() + before);
  writer.json(text);
  out.resize(static_cast<std::size_t>(writer.at() - out.data()));
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

JsonWriter& JsonWriter::raw(std::string_view name, std::string_view value) {
  separate();
  append_json_string(text_, name);
  text_ += ':';
  text_ += value;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view name, std::string_view value) {
  separate();
  append_json_string(text_, name);
  text_ += ':';
  append_json_string(text_, value);
  return *this;
}

JsonWriter& JsonWriter::add(std::string_view value) {
  separate();
  text_ += value;
  return *this;
}

}  // namespace weir::base

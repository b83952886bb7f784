// A tool of the build: reads a YAML file and writes it as JSON, inside a C++ file that defines it as bytes.
//   embed_yaml FILE.yaml OUT.cc HEADER FUNCTION
// FUNCTION, which HEADER declares in namespace weir::service, returns the JSON as a string_view.
#include <yaml-cpp/yaml.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <regex>
#include <string>

namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char escaped[8] = {c, '\0'};
    if (c == '"' || c == '\\') std::snprintf(escaped, sizeof escaped, "\\%c", c);
    if (c == '\n') std::snprintf(escaped, sizeof escaped, "\\n");
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n')
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
    json += escaped;
  }
  return json + '"';
}

/// A scalar without quotes is what it looks like; one with quotes has the tag "!" and is text.
std::string scalar(const YAML::Node& node) {
  static const std::regex plain("true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?");
  const std::string& text = node.Scalar();
  return node.Tag() == "?" && std::regex_match(text, plain) ? text : quoted(text);
}

std::string to_json(const YAML::Node& node) {
  std::string json;
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    for (const auto& item : node) json += (json.empty() ? "" : ",") + to_json(item);
    return '[' + json + ']';
  }
  if (node.IsMap()) {
    for (const auto& member : node)
      json += (json.empty() ? "" : ",") + quoted(member.first.Scalar()) + ':' + to_json(member.second);
    return '{' + json + '}';
  }
  return "null";
}

/// As numbers: a string literal of this length is more than compilers promise to take.
void write(std::ostream& out, const std::string& json, const std::string& header,
           const std::string& function) {
  out << "// Made from a YAML file by the build.\n#include \"" << header
      << "\"\n\nnamespace weir::service {\n"
      << "namespace {\n\nconstexpr char json[] = {";
  for (std::size_t at = 0; at < json.size(); ++at)
    out << (at % 32 == 0 ? "\n" : "") << static_cast<int>(static_cast<signed char>(json[at])) << ',';
  out << "\n};\n\n}  // namespace\n\nstd::string_view " << function
      << "() { return {json, sizeof json}; }\n\n}  // namespace weir::service\n";
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::cerr << "usage: embed_yaml FILE.yaml OUT.cc HEADER FUNCTION\n";
    return 2;
  }
  try {
    std::ofstream out(words[2], std::ios::binary);
    write(out, to_json(YAML::LoadFile(words[1])), words[3], words[4]);
    out.close();
    if (out) return 0;
    std::cerr << words[2] << ": cannot be written\n";
  } catch (const std::exception& problem) {
    std::cerr << words[1] << ": " << problem.what() << '\n';
  }
  return 1;
}

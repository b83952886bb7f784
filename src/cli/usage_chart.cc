#include "cli/usage_chart.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::cli {
namespace {

constexpr std::size_t steps = 8;

struct Characters {
  const char* levels[steps];  ///< of a sparkline
  const char* zero;
  const char* negative;
  const char* parts[steps];  ///< of a bar, by eighths of a character; the last is a whole one
};

const Characters& characters_of(Charset charset) {
  static constexpr Characters utf8{
      {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "·", "-", {"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"}};
  static constexpr Characters ascii{
      {"_", ",", ":", ";", "+", "*", "%", "#"}, ".", "-", {"#", "#", "#", "#", "#", "#", "#", "#"}};
  return charset == Charset::utf8 ? utf8 : ascii;
}

/// `value` of `largest`, in `parts` parts, rounded up, so that what is not 0 shows.
std::size_t share(std::int64_t value, std::int64_t largest, std::size_t parts) {
  const base::Int128 product = static_cast<base::Int128>(value) * static_cast<base::Int128>(parts);
  return static_cast<std::size_t>((product + largest - 1) / largest);
}

}  // namespace

Charset charset_of(const Environment& environment) {
  if (environment("TERM") == "dumb") return Charset::ascii;
  std::string locale;
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = environment(name).value_or("");
  }
  std::string letters;
  for (const char c : locale) {
    if (c != '-') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters.find("utf8") == std::string::npos ? Charset::ascii : Charset::utf8;
}

std::string sparkline(std::span<const std::int64_t> values, Charset charset) {
  const Characters& characters = characters_of(charset);
  const std::int64_t largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::string line;
  for (const std::int64_t value : values) {
    if (value <= 0) {
      line += value == 0 ? characters.zero : characters.negative;
    } else {
      line += characters.levels[share(value, largest, steps) - 1];
    }
  }
  return line;
}

std::string bar(std::int64_t value, std::int64_t largest, std::size_t width, Charset charset) {
  if (value <= 0 || largest <= 0) return {};
  const Characters& characters = characters_of(charset);
  const std::size_t eighths = share(value, largest, width * steps);
  std::string text;
  for (std::size_t i = 0; i < eighths / steps; ++i) text += characters.parts[steps - 1];
  if (eighths % steps != 0) text += characters.parts[eighths % steps - 1];
  return text;
}

}  // namespace weir::cli

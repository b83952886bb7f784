#include "cli/style.h"

#include "base/text.h"

namespace weir::cli {

bool use_color(Color asked, bool is_terminal, const Environment& environment) {
  if (asked != Color::automatic) return asked == Color::always;
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  if (!value("NO_COLOR").empty()) return false;
  if (const std::string force = value("CLICOLOR_FORCE"); !force.empty() && force != "0") return true;
  return is_terminal && value("TERM") != "dumb";
}

std::string Style::operator()(Tone tone, std::string_view text) const {
  if (!colored_ || tone == Tone::plain || text.empty()) return std::string(text);
  const char* code = "";
  switch (tone) {
    case Tone::plain:
      break;
    case Tone::heading:
      code = "1";
      break;
    case Tone::good:
      code = "32";
      break;
    case Tone::warning:
      code = "33";
      break;
    case Tone::bad:
      code = "31";
      break;
    case Tone::quiet:
      code = "2";
      break;
  }
  return base::join("\x1b[", code, "m", text, "\x1b[0m");
}

}  // namespace weir::cli

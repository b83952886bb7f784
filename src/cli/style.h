// Colours, or none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

/// Reads a variable of the environment; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

enum class Color { automatic, always, never };

/// Whether to colour the output to a stream: by the option, else by NO_COLOR, CLICOLOR_FORCE, and whether the
/// stream is a terminal with colours.
bool use_color(Color asked, bool is_terminal, const Environment& environment);

/// The role of a piece of text, which determines its colour.
enum class Tone { plain, heading, good, warning, bad, quiet };

class Style {
 public:
  explicit Style(bool colored) : colored_(colored) {}
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool colored_;
};

}  // namespace weir::cli

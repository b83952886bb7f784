// Colours, or none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

/// Reads a variable of the environment; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

enum class Color { automatic, always, never };

/// Whether to colour what goes to a stream. What was asked for comes first; then NO_COLOR, CLICOLOR_FORCE,
/// and whether the stream is a terminal that can.
bool use_color(Color asked, bool is_terminal, const Environment& environment);

/// What a piece of text is, for those who see colours.
enum class Tone { plain, heading, good, warning, bad, quiet };

class Style {
 public:
  explicit Style(bool colored) : colored_(colored) {}
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool colored_;
};

}  // namespace weir::cli

// Small charts of text. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cli/style.h"

namespace weir::cli {

/// Which characters a chart is made of.
enum class Charset { ascii, utf8 };

/// By LC_ALL, LC_CTYPE or LANG, the first that is set; a dumb terminal has ASCII.
Charset charset_of(const Environment& environment);

/// One character for each value: the higher, the larger. 0 and values below have signs of their own.
std::string sparkline(std::span<const std::int64_t> values, Charset charset);

/// A bar whose length is the value's share of `largest`, at most `width` characters. Every value above 0
/// shows.
std::string bar(std::int64_t value, std::int64_t largest, std::size_t width, Charset charset);

}  // namespace weir::cli

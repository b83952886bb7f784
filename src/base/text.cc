#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace weir::base {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The edit distance between a and b: letters added, dropped, replaced or swapped with their neighbour.
/// Ignores case.
std::size_t mistakes(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 80;
  std::string out = "\"";
  for (const char c : text.substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  out += text.size() > shown ? "...\"" : "\"";
  return out;
}

std::optional<std::size_t> find_not_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned first = byte(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    if (size == 0 || text.size() - at < size) return at;
    for (std::size_t i = 1; i < size; ++i) {
      if ((byte(i) & 0xc0U) != 0x80) return at;
    }
    // An overlong encoding, a surrogate, or a code point past the last one.
    const unsigned second = size > 1 ? byte(1) : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
      return at;
    }
    at += size;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_digits(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view closest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t longest = 64;  // a longer word is no typing mistake of a known one
  std::string_view best;
  std::size_t fewest = std::min<std::size_t>(word.size() / 3, 3) + 1;
  if (word.size() > longest) return best;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest) continue;
    // The beginning of a name is as good a guess as one typing mistake: "timeout" for "timeout_ms".
    const bool begins = word.size() >= 4 && candidate.starts_with(word);
    const std::size_t count = begins ? 1 : mistakes(word, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = closest(word, candidates);
  return near.empty() ? std::string() : join("; did you mean ", quoted(near), "?");
}

}  // namespace weir::base

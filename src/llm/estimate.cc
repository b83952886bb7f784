#include "llm/estimate.h"

#include <algorithm>

namespace weir::llm {
namespace {

/// A token of English text has four bytes.
constexpr std::uint32_t usual_per_byte = 65'536 / 4;
constexpr std::int64_t usual_output = 256;
/// From a token of 64 bytes to four tokens in a byte: beyond that a body is no text (images, attachments).
constexpr std::uint32_t least_per_byte = 65'536 / 64;
constexpr std::uint32_t most_per_byte = 65'536 * 4;
constexpr std::int64_t most_output = 1'000'000;
/// The weight of a new call is an eighth.
constexpr std::int64_t share = 8;

std::uint32_t approach(std::uint32_t known, std::int64_t seen) {
  return static_cast<std::uint32_t>((std::int64_t{known} * (share - 1) + seen + share - 1) / share);
}

}  // namespace

Estimates::Estimates() : table_(places) {}

const Estimates::Entry* Estimates::find(std::uint64_t key) const {
  const Entry& entry = table_[key % places];
  return entry.key == key ? &entry : nullptr;
}

Estimate Estimates::of(std::uint64_t narrow, std::uint64_t wide, std::size_t body_bytes) const {
  const Entry* entry = find(narrow);
  if (entry == nullptr) entry = find(wide);
  constexpr std::size_t most_bytes = std::size_t{1} << 40U;
  const auto bytes = static_cast<std::int64_t>(std::min(body_bytes, most_bytes));
  const std::int64_t per_byte = entry != nullptr ? entry->per_byte : usual_per_byte;
  const std::int64_t output = entry != nullptr ? entry->output / share : usual_output;
  return {std::max<std::int64_t>((bytes * per_byte + 65'535) / 65'536, 1), std::max<std::int64_t>(output, 1)};
}

void Estimates::learn(std::uint64_t narrow, std::uint64_t wide, std::size_t body_bytes,
                      const Estimate& used) {
  learn(narrow, body_bytes, used);
  learn(wide, body_bytes, used);
}

void Estimates::learn(std::uint64_t key, std::size_t body_bytes, const Estimate& used) {
  if (body_bytes == 0) return;
  Entry& entry = table_[key % places];
  const std::int64_t per_byte = std::clamp<std::int64_t>(
      used.input * 65'536 / static_cast<std::int64_t>(body_bytes), least_per_byte, most_per_byte);
  const std::int64_t output = std::clamp<std::int64_t>(used.output, 0, most_output) * share;
  if (entry.key != key) {
    entry = {key, static_cast<std::uint32_t>(per_byte), static_cast<std::uint32_t>(output)};
    return;
  }
  entry.per_byte = approach(entry.per_byte, per_byte);
  entry.output = approach(entry.output, output);
}

}  // namespace weir::llm

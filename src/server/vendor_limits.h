// Which limits the fields of vendors of language models mean, by the usual names of limits.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "server/shown_limits.h"

namespace weir::server {

enum class VendorLimit : std::uint8_t { requests, tokens, input_tokens, output_tokens };

/// rpm, rpd and names with "request" count requests; itpm, otpm, tpm and names with "token" count tokens.
inline std::optional<VendorLimit> vendor_limit_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.starts_with("itp") || has("input-token") || has("input_token")) return VendorLimit::input_tokens;
  if (name.starts_with("otp") || has("output-token") || has("output_token"))
    return VendorLimit::output_tokens;
  if (name.starts_with("tp") || has("token")) return VendorLimit::tokens;
  if (name.starts_with("rp") || has("request")) return VendorLimit::requests;
  return std::nullopt;
}

/// The tightest rate limit of each meaning.
inline std::array<std::optional<LimitStatus>, 4> vendor_limits(const LimitReport& report) {
  std::array<std::optional<LimitStatus>, 4> found;
  for_each_name(report, [&](const LimitStatus& limit) {
    const auto meaning = limit.kind == Kind::rate ? vendor_limit_of(limit.name) : std::nullopt;
    if (!meaning) return;
    auto& known = found[static_cast<std::size_t>(*meaning)];
    if (!known || tighter(limit, *known)) known = limit;
  });
  return found;
}

/// How long until the limit has its capacity again, if nothing is charged.
inline std::chrono::milliseconds until_full(const LimitStatus& limit) {
  const auto missing = static_cast<double>(limit.capacity.millitokens() - limit.remaining.millitokens());
  const auto capacity = static_cast<double>(limit.capacity.millitokens());
  if (missing <= 0 || capacity <= 0) return std::chrono::milliseconds(0);
  const double wait = missing / capacity * 1000.0 * static_cast<double>(limit.window.count());
  constexpr double longest = 3e11;  // ten years
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(wait, longest)) + 1);
}

}  // namespace weir::server

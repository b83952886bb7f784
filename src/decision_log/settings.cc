#include "decision_log/settings.h"

#include <algorithm>

#include "base/text.h"
#include "decision_log/decision_log.h"

namespace weir::decision_log {

Result<std::uint64_t> parse_size(std::string_view option, std::string_view text) {
  constexpr std::uint64_t largest = std::uint64_t{1024} * 1024 * maxima::mib;
  const std::string_view unit = text.size() > 2 ? text.substr(text.size() - 2) : std::string_view();
  const std::uint64_t factor = unit == "KB"   ? maxima::kib
                               : unit == "MB" ? maxima::mib
                               : unit == "GB" ? 1024 * maxima::mib
                                              : 0;
  const auto count = base::parse_digits(text.substr(0, text.size() - unit.size()));
  if (factor == 0 || !count)
    return base::invalid(option, ": ", base::quoted(text), " is not a size; write it as in 64MB or 2GB");
  if (static_cast<std::uint64_t>(*count) > largest / factor)
    return base::invalid(option, ": use at most 1024GB");
  const std::uint64_t bytes = static_cast<std::uint64_t>(*count) * factor;
  if (bytes < least_bytes) return base::invalid(option, ": use at least 1MB");
  return bytes;
}

Result<Keeps> parse_keeps(std::string_view option, std::string_view text) {
  const auto found = std::find(keeps_names.begin(), keeps_names.end(), text);
  if (found == keeps_names.end()) {
    return base::invalid(option, ": use off, refusals or all",
                         base::did_you_mean(text, std::span(keeps_names.begin(), keeps_names.size())));
  }
  return static_cast<Keeps>(found - keeps_names.begin());
}

std::string path_beside(std::string_view store) {
  constexpr std::string_view file = "sqlite:";
  if (!store.starts_with(file)) return {};
  return base::join(store.substr(file.size()), "-decisions");
}

}  // namespace weir::decision_log

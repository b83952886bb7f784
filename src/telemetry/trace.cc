#include "telemetry/trace.h"

#include <algorithm>

namespace weir::telemetry {
namespace {

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
std::string_view trace_id_of(std::string_view traceparent) {
  constexpr std::size_t size = 55;
  constexpr std::size_t longest = 256;
  if (traceparent.size() < size || traceparent.size() > longest) return {};
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(3, 32);
  const std::string_view parent = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return {};
  if (!is_hex(version) || !is_hex(trace) || !is_hex(parent) || !is_hex(flags)) return {};
  if (version == "ff" || is_zero(trace) || is_zero(parent)) return {};
  // Later versions may add more after a dash.
  if (traceparent.size() > size && (version == "00" || traceparent[size] != '-')) return {};
  return trace;
}

}  // namespace weir::telemetry

// The id of a request: that of a proxy in front, or one of this process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/maxima.h"

namespace weir::server {

/// Safe to use from any thread.
class RequestIds {
 public:
  std::string next() { return "weir-" + std::to_string(last_.fetch_add(1, std::memory_order_relaxed) + 1); }
  /// The id in the field X-Request-Id, if it is safe in a header and in a log line; otherwise a new one.
  std::string id_for(std::optional<std::string_view> given) {
    return given && usable(*given) ? std::string(*given) : next();
  }

 private:
  static bool usable(std::string_view id) {
    return !id.empty() && id.size() <= maxima::request_id && std::all_of(id.begin(), id.end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '"' && c != '\\';
    });
  }

  std::atomic<std::uint64_t> last_{0};
};

}  // namespace weir::server

// Compares the content of two stores after a copy.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/copy.h"

namespace weir::app {

/// 128 bits of the SHA-256 of a text.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const Fingerprint&, const Fingerprint&) = default;
};
Fingerprint fingerprint_of(std::string_view text);

/// Where two stores differ, as sentences: the kind and namespace with the counts, and some of the records.
/// Empty: they have the same content. Records of the source count as the target keeps them. `read`: called
/// with the number of records of each page.
Result<std::vector<std::string>> compare(store::CopyReader& source, store::CopyWriter& target,
                                         const store::CopyScope& scope,
                                         const std::function<void(std::size_t)>& read);

}  // namespace weir::app

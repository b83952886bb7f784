#include "base/entropy.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>

namespace weir::base {

void SystemEntropy::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto got = getrandom(bytes.data(), bytes.size(), 0);
    // Without randomness no key is safe, so the process must not continue.
    if (got <= 0) std::abort();
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace weir::base

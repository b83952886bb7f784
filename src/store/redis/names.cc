#include "store/redis/names.h"

namespace weir::redis {

std::string Names::lease(std::string_view name_space, std::string_view family,
                         const table::Nonce& nonce) const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string key = base::join(prefix, ":", name_space, ":{", family, "}:l:");
  for (const std::uint64_t half : nonce) {
    for (unsigned shift = 64; shift > 0; shift -= 4) key += digits[half >> (shift - 4) & 15U];
  }
  return key;
}

}  // namespace weir::redis

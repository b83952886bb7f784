#include "store/redis/names.h"

#include "base/hex.h"

namespace weir::redis {

std::string Names::lease(std::string_view name_space, std::string_view family,
                         const decision::Nonce& nonce) const {
  return base::join(prefix, ":", name_space, ":{", family, "}:l:", base::hex(nonce[0]), base::hex(nonce[1]));
}

}  // namespace weir::redis

// Lease ids. A text that is not ours is refused; the payload behind a good MAC is parsed without harm even
// if it is not what we wrote, since a store's key may outlive a version of weir.
#include <cstdlib>
#include <string_view>

#include "limiter/lease_id.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr weir::store::LeaseKey key{};
  if (weir::limiter::decode_lease(bytes, "default", key)) std::abort();
  const auto lease = weir::limiter::parse_lease_payload(bytes, "default");
  if (!lease) return 0;
  const auto again =
      weir::limiter::decode_lease(weir::limiter::encode_lease(*lease, "default", key), "default", key);
  if (!again || again->amounts != lease->amounts || again->nonce != lease->nonce) std::abort();
  return 0;
}

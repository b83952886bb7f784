#include "gateway/new_clients.h"

#include <utility>

namespace weir::gateway {

NewClients::Verdict NewClients::admit(std::uint64_t key, std::uint64_t network,
                                      std::chrono::milliseconds now) {
  const base::Guard guard(mutex_);
  if (now - since_ >= bounds_.period) {
    // After two periods without a request nothing of the last one counts.
    previous_ = now - since_ < 2 * bounds_.period ? std::exchange(current_, {}) : Period();
    current_ = {};
    since_ = now;
  }
  if (current_.keys.contains(key)) return Verdict::own;
  unsigned& in_network = current_.networks[network];
  const bool admitted_before = previous_.keys.contains(key);
  const bool room = in_network < bounds_.per_network && current_.keys.size() < bounds_.total;
  if (!admitted_before && !room) {
    if (in_network == 0) current_.networks.erase(network);
    return std::exchange(current_.overflowed, true) ? Verdict::shared : Verdict::first_shared;
  }
  current_.keys.insert(key);
  ++in_network;
  return Verdict::own;
}

}  // namespace weir::gateway

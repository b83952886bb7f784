// How many connections each address has open.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>

#include "base/lock.h"
#include "net/address.h"

namespace weir::net {

/// Counts by IPv4 address and by IPv6 /64 network, which one customer usually has. Safe to use from any
/// thread.
class ConnectionCounts {
 public:
  /// Counts one more, unless the address has `most` already.
  bool take(const Address& peer, unsigned most) {
    const base::Guard guard(mutex_);
    unsigned& count = counts_[network_of(peer)];
    if (count >= most) return false;
    ++count;
    return true;
  }
  void give_back(const Address& peer) {
    const base::Guard guard(mutex_);
    const auto found = counts_.find(network_of(peer));
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }

 private:
  using Network = std::array<std::uint8_t, 9>;
  static Network network_of(const Address& peer) {
    Network network{static_cast<std::uint8_t>(peer.v6 ? 6 : 4)};
    std::memcpy(network.data() + 1, peer.bytes.data(), peer.v6 ? 8 : 4);
    return network;
  }

  base::Mutex mutex_;
  std::map<Network, unsigned> counts_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::net

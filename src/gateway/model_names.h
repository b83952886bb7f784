// Bounds the resources that clients can make by inventing names of models: without `models` in a route each
// name is a resource, with buckets of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "base/lock.h"
#include "base/maxima.h"
#include "gateway/new_clients.h"

namespace weir::gateway {

/// Remembers for which models a vendor has answered. Every other name is new, and each address may use only
/// so many of them in a period, whether they are answered then or not: some upstreams answer for every name.
/// A name beyond that is to be refused: charged to any other resource, the call would escape the limits of
/// its own. Names and networks are given by their hashes. Safe to use from any thread.
class ModelNames {
 public:
  enum class Verdict : std::uint8_t {
    known,
    fresh,          ///< admitted, and unknown until a vendor answers for it
    first_refused,  ///< there are too many new names. The first time in a period, for the log
    refused,
  };

  explicit ModelNames(const NewClientBounds& bounds, std::size_t most_known = maxima::model_names)
      : fresh_(bounds), most_known_(most_known) {}

  Verdict admit(std::uint64_t model, std::uint64_t network, std::chrono::milliseconds now);
  /// A vendor has answered a call of a fresh model with no error. The `most_known` models that were used last
  /// stay known, and at most twice as many.
  void answered(std::uint64_t model);

 private:
  bool is_known(std::uint64_t model);
  void keep(std::uint64_t model) WEIR_REQUIRES(mutex_);

  NewClients fresh_;
  const std::size_t most_known_;
  base::Mutex mutex_;
  std::unordered_set<std::uint64_t> current_ WEIR_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> previous_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::gateway

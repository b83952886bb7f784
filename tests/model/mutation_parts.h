// Functions that mutations of several files share: they change the writes of a transaction.
#pragma once

#include <cstdint>

#include "mutations.h"

namespace weir::model {

using Sent = conditional::Transaction&;
using Path = conditional::Write::Path;

template <class Change>
void each(Sent sent, Path path, Change&& change) {
  for (conditional::Write& write : sent.writes) {
    if (write.path == path) change(write);
  }
}

template <class Change>
void each_limit(Sent sent, Path path, Change&& change) {
  each(sent, path, [&](conditional::Write& write) {
    for (conditional::LimitWrite& limit : write.limits) change(limit);
  });
}

/// The sum of the charges.
inline std::int64_t consumed(const conditional::Transaction& sent) {
  std::int64_t sum = 0;
  for (const conditional::Write& write : sent.writes) {
    for (const conditional::LimitWrite& limit : write.limits) sum += limit.consumed;
    if (write.item) {
      for (const auto& limit : write.item->limits) sum += limit.consumed;
    }
  }
  return sum;
}

}  // namespace weir::model

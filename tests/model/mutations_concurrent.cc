// Mutations of the writes to concurrent limits.
#include <algorithm>

#include "mutations.h"

namespace weir::model {
namespace {

using bucket::Holds;
using conditional::LimitWrite;
using conditional::Marker;
using conditional::Transaction;
using conditional::Write;
using Effect = LimitWrite::Effect;
using Sent = Transaction&;

/// A limit whose holds a Normal write replaces.
struct Replaced {
  LimitWrite& write;
  Holds before;  ///< those of the image whose deadline has not passed
  std::int64_t taken() const { return bucket::total(*write.set_holds) - bucket::total(before); }
};

template <class Change>
void each_replaced(Transaction& transaction, Time now, Change&& change) {
  for (Write& write : transaction.writes) {
    for (LimitWrite& limit : write.limits) {
      if (!limit.holds || !limit.set_holds) continue;
      change(Replaced{limit, bucket::live(*limit.holds, std::max(now, write.set_refilled_at.value_or(0)))});
    }
  }
}

void set(LimitWrite& write, Holds holds) {
  write.tokens += bucket::total(*write.set_holds) - bucket::total(holds);
  write.set_holds = std::move(holds);
}

void without_list(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) { limit.write.holds.reset(); });
}

/// A write that takes nothing leaves the holds alone; its expiry is still computed from them.
void without_list_where_nothing_is_taken(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    if (limit.write.parameters || *limit.write.set_holds != limit.before) return;
    limit.write.effect = Effect::none;
    limit.write.holds.reset();
    limit.write.set_holds.reset();
  });
}

void release_from_the_end(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    std::int64_t given = -limit.taken();
    if (given <= 0) return;
    Holds holds = limit.before;
    for (auto at = holds.rbegin(); at != holds.rend(); ++at) {
      const std::int64_t part = std::min(at->amount, given);
      at->amount -= part;
      given -= part;
    }
    std::erase_if(holds, [](const bucket::Hold& hold) { return hold.amount == 0; });
    set(limit.write, std::move(holds));
  });
}

/// A taken amount goes to the entry before the one where it belongs.
void take_under_an_earlier_deadline(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    if (limit.before.size() < maxima::holds || limit.taken() <= 0) return;
    Holds holds = limit.before;
    for (std::size_t i = 1; i < holds.size(); ++i) {
      if (i >= limit.write.set_holds->size() || (*limit.write.set_holds)[i] == holds[i]) continue;
      holds[i - 1].amount += limit.taken();
      return set(limit.write, std::move(holds));
    }
  });
}

void expiry_without_holds(Sent sent, const Grounds& grounds) {
  for (Write& write : sent.writes) {
    if (write.set_expires_at) write.set_expires_at = *write.set_refilled_at + grounds.resolution.keep_for;
    if (write.item) write.item->expires_at = write.item->refilled_at + grounds.resolution.keep_for;
  }
}

void credit_to_any_kind(Sent sent, const Grounds& /*grounds*/) {
  for (Write& write : sent.writes) {
    for (LimitWrite& limit : write.limits) {
      limit.exists = limit.exists || limit.is_rate;
      limit.is_rate = false;
    }
  }
}

/// The marker gets the new deadline, and the hold keeps its old one.
void extend_the_marker_alone(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    if (limit.taken() == 0) set(limit.write, limit.before);
  });
}

void any_sequence(Sent sent, const std::optional<Marker>& there) {
  if (!sent.marker || sent.marker->next.lease.ending != decision::Ending::open) return;
  sent.marker->sequence.reset();
  sent.marker->require(there);
}

/// An amount given back is added to the holds of that moment.
void keep_what_is_given_back(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    if (limit.taken() < 0) set(limit.write, limit.before);
  });
}

/// Holds whose deadline has passed still count.
void keep_the_expired(Sent sent, const Grounds& grounds) {
  each_replaced(sent, grounds.now, [](const Replaced& limit) {
    Holds holds = *limit.write.set_holds;
    for (const bucket::Hold& hold : *limit.write.holds) {
      const bool kept = std::find(limit.before.begin(), limit.before.end(), hold) != limit.before.end();
      if (!kept && !limit.before.empty()) bucket::take(holds, limit.before.front().deadline, hold.amount);
    }
    set(limit.write, std::move(holds));
  });
}

}  // namespace

std::vector<Mutation> concurrent_mutations() {
  return {
      {.name = "holds-without-condition", .batch = "S1", .sent = &without_list},
      {.name = "holds-without-condition-in-full-lists", .batch = "S11", .sent = &without_list},
      {.name = "expiry-from-old-holds", .batch = "S14", .sent = &without_list_where_nothing_is_taken},
      {.name = "release-from-the-end", .batch = "S1", .sent = &release_from_the_end},
      {.name = "take-under-an-earlier-deadline", .batch = "S11", .sent = &take_under_an_earlier_deadline},
      {.name = "expiry-without-holds", .batch = "S2", .sent = &expiry_without_holds},
      {.name = "credit-to-any-kind", .batch = "S17", .sent = &credit_to_any_kind},
      {.name = "extend-the-marker-alone", .batch = "S5", .sent = &extend_the_marker_alone},
      {.name = "extend-any-sequence", .batch = "S5", .delivered = &any_sequence},
      {.name = "release-keeps-the-holds", .batch = "S1", .sent = &keep_what_is_given_back},
      {.name = "expired-holds-stay", .batch = "S1", .sent = &keep_the_expired},
  };
}

}  // namespace weir::model

#include "decision/lease.h"

#include <algorithm>

#include "base/text.h"
#include "base/wide.h"
#include "limits/names.h"

namespace weir::decision {
namespace {

using base::error;
using base::invalid;
using base::quoted;

/// The buckets that have a limit.
struct BucketsWithLimit {
  std::uint8_t buckets = 0;  ///< bit i: the i-th can be charged
  std::uint8_t holds = 0;    ///< those in which the limit is concurrent
  bool known = false;        ///< some bucket has the limit, in any mode
};

/// A limit in shadow mode that the lease does not hold would have refused the acquire, so later changes do
/// not charge it either. A limit that is off is never charged.
BucketsWithLimit buckets_with(std::string_view limit, std::span<const limits::LimitSetRef> sets) {
  BucketsWithLimit found;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const int index = sets[i] ? sets[i]->find(limit) : -1;
    if (index < 0) continue;
    found.known = true;
    if (sets[i]->mode(static_cast<std::size_t>(index)) != Mode::enforce) continue;
    found.buckets = static_cast<std::uint8_t>(found.buckets | 1U << i);
    const bool concurrent = (*sets[i])[static_cast<std::size_t>(index)].kind() == Kind::concurrent;
    if (concurrent) found.holds = static_cast<std::uint8_t>(found.holds | 1U << i);
  }
  return found;
}

/// The lease's amount of a limit; a new one of 0 where it had none, without buckets if none is to be charged.
/// Null where no bucket has the limit.
LeaseAmount* amount_of(LeaseRecord& record, std::string_view limit,
                       std::span<const limits::LimitSetRef> sets) {
  for (LeaseAmount& amount : record.amounts) {
    if (amount.limit == limit) return &amount;
  }
  const BucketsWithLimit found = buckets_with(limit, sets);
  if (!found.known) return nullptr;
  return &record.amounts.emplace_back(LeaseAmount{std::string(limit), 0, found.buckets, found.holds});
}

/// The net amount after the change, or an error where it is not allowed.
Result<std::int64_t> next_amount(LeaseVerb verb, const LeaseAmount& amount, const Charge& charge) {
  if (!charge.amount.in_range()) return invalid("amount of ", quoted(charge.limit), " is too large");
  const std::int64_t stated = charge.amount.millitokens();
  if (verb == LeaseVerb::settle) {
    if (stated < 0)
      return invalid("amount of ", quoted(charge.limit),
                     " is negative; settle with what was really used, 0 or more");
    return stated;
  }
  const std::int64_t net = amount.amount + stated;
  if (net < 0) {
    return invalid("adjust would give back more of ", quoted(charge.limit), " than the lease holds (",
                   Amount::milli(amount.amount).to_string(), ")");
  }
  if (net > Amount::max_millitokens)
    return invalid("amount of ", quoted(charge.limit), " is too large in sum");
  return net;
}

Error ended_otherwise(Ending ending, LeaseVerb verb) {
  const bool other_amounts = ending == Ending::settled && verb == LeaseVerb::settle;
  return error(ErrorCode::conflict, "the lease was already ",
               ending == Ending::settled ? "settled" : "rolled back",
               other_amounts ? " with other amounts" : "", "; it cannot be changed any more");
}

bool repeats(const LeaseRecord& record, const LeaseChange& change) {
  if (change.verb == LeaseVerb::adjust) {
    return !change.key.empty() &&
           std::find(record.keys.begin(), record.keys.end(), change.key) != record.keys.end();
  }
  if (change.verb == LeaseVerb::rollback) return record.ending == Ending::rolled_back;
  if (change.verb == LeaseVerb::extend) return false;
  if (record.ending != Ending::settled) return false;
  return std::all_of(change.charges.begin(), change.charges.end(), [&](const Charge& charge) {
    const auto same = [&](const LeaseAmount& amount) { return amount.limit == charge.limit; };
    const auto found = std::find_if(record.amounts.begin(), record.amounts.end(), same);
    return found != record.amounts.end() && found->amount == charge.amount.millitokens();
  });
}

bool are_grants(const std::vector<detail::GrantUse>& uses) {
  return uses.size() <= maxima::grant_uses && std::all_of(uses.begin(), uses.end(), [](const auto& use) {
           return use.bucket < maxima::chain && use.end > 0 && use.end <= bucket::no_end && use.amount > 0 &&
                  use.amount <= Amount::max_millitokens;
         });
}

/// The charges of limits that the lease has.
std::vector<Charge> held_of(const LeaseRecord& record, std::span<const Charge> charges) {
  std::vector<Charge> held;
  for (const Charge& charge : charges) {
    const auto same = [&](const LeaseAmount& amount) { return amount.limit == charge.limit; };
    if (std::any_of(record.amounts.begin(), record.amounts.end(), same)) held.push_back(charge);
  }
  return held;
}

}  // namespace

bool can_be_used(const LeaseRecord& record) {
  return record.keys.size() <= max_adjusts &&
         std::all_of(record.amounts.begin(), record.amounts.end(), [](const LeaseAmount& amount) {
           return limits::check_limit_name(amount.limit) && amount.amount >= 0 &&
                  amount.amount <= Amount::max_millitokens && (amount.holds & ~amount.buckets) == 0 &&
                  are_grants(amount.granted);
         });
}

Result<LeaseStep> step(const LeaseRecord& record, const LeaseChange& change,
                       std::span<const limits::LimitSetRef> sets) {
  if (change.only_held) {
    const std::vector<Charge> held = held_of(record, change.charges);
    LeaseChange of_held = change;
    of_held.charges = held;
    of_held.only_held = false;
    return step(record, of_held, sets);
  }
  LeaseStep result{false, record, {}};
  if (repeats(record, change)) {
    result.repeated = true;
    return result;
  }
  if (record.ending != Ending::open) return ended_otherwise(record.ending, change.verb);

  LeaseRecord& next = result.next;
  if (change.verb == LeaseVerb::rollback) {
    for (LeaseAmount& amount : next.amounts) amount.amount = 0;
  }
  for (std::size_t i = 0; i < change.charges.size(); ++i) {
    const Charge& charge = change.charges[i];
    const auto earlier = change.charges.first(i);
    if (std::any_of(earlier.begin(), earlier.end(),
                    [&](const Charge& other) { return other.limit == charge.limit; })) {
      return invalid("limit ", quoted(charge.limit), " is named twice; name it once");
    }
    LeaseAmount* const amount = amount_of(next, charge.limit, sets);
    if (amount == nullptr) {
      return error(ErrorCode::unknown_limit, "limit ", quoted(charge.limit),
                   " is not known to any bucket of the lease");
    }
    auto net = next_amount(change.verb, *amount, charge);
    if (!net) return net.error();
    amount->amount = *net;
  }
  if (change.verb == LeaseVerb::settle) next.ending = Ending::settled;
  if (change.verb == LeaseVerb::rollback) next.ending = Ending::rolled_back;
  if (change.verb == LeaseVerb::adjust && !change.key.empty()) {
    if (next.keys.size() == max_adjusts)
      return invalid("the lease was adjusted too often; settle it and acquire a new one");
    next.keys.emplace_back(change.key);
  }
  for (std::size_t i = 0; i < next.amounts.size(); ++i) {
    const LeaseAmount& amount = next.amounts[i];
    const std::int64_t before = i < record.amounts.size() ? record.amounts[i].amount : 0;
    const std::int64_t difference = amount.amount - before;
    const auto rates = static_cast<std::uint8_t>(amount.buckets & ~amount.holds);
    if (difference != 0 && rates != 0) result.charges.push_back({amount.limit, difference, rates});
    const std::int64_t held = next.ending == Ending::open ? difference : -before;
    if (held != 0 && amount.holds != 0)
      result.charges.push_back({amount.limit, held, amount.holds, amount.holds});
  }
  return result;
}

LeaseAmount& amount_in(std::vector<LeaseAmount>& amounts, std::string_view limit) {
  return *std::find_if(amounts.begin(), amounts.end(),
                       [&](const LeaseAmount& amount) { return amount.limit == limit; });
}

void note_granted(LeaseAmount& amount, std::size_t bucket, std::span<const bucket::Grant> pieces) {
  for (const bucket::Grant& piece : pieces) {
    const auto known = std::find_if(
        amount.granted.begin(), amount.granted.end(),
        [&](const detail::GrantUse& use) { return use.bucket == bucket && use.end == piece.deadline; });
    if (known != amount.granted.end()) {
      known->amount += piece.amount;
    } else if (amount.granted.size() < maxima::grant_uses) {
      amount.granted.push_back({static_cast<std::uint8_t>(bucket), piece.deadline, piece.amount});
    }
  }
}

bucket::Grants take_granted(LeaseAmount& amount, std::size_t bucket, std::int64_t back) {
  bucket::Grants pieces;
  std::vector<detail::GrantUse*> uses;
  for (detail::GrantUse& use : amount.granted) {
    if (use.bucket == bucket) uses.push_back(&use);
  }
  std::sort(uses.begin(), uses.end(), [](const auto* a, const auto* b) { return a->end > b->end; });
  for (detail::GrantUse* const use : uses) {
    const std::int64_t part = std::min(use->amount, back);
    if (part <= 0) break;
    pieces.push_back({use->end, part});
    use->amount -= part;
    back -= part;
  }
  std::erase_if(amount.granted, [](const detail::GrantUse& use) { return use.amount == 0; });
  return pieces;
}

Result<void> settle_masks(LeaseStep& step) {
  for (LeaseAmount& amount : step.next.amounts) {
    std::uint8_t charged = 0;
    bool more = false;
    for (const LeaseAmount& charge : step.charges) {
      if (charge.limit != amount.limit) continue;
      more = more || charge.amount > 0;
      charged = static_cast<std::uint8_t>(charged | charge.buckets);
    }
    if (!more) continue;
    if (charged == 0) {
      return base::error(ErrorCode::unknown_limit, "limit ", base::quoted(amount.limit),
                         " is not among the limits of the lease's buckets any more");
    }
    amount.buckets = charged;
    amount.holds = static_cast<std::uint8_t>(amount.holds & charged);
  }
  return {};
}

Result<void> check_debt(const limits::LimitSet& set, std::string_view limit, std::int64_t tokens, Debt debt) {
  if (tokens >= 0) [[likely]]
    return {};
  const int index = set.find(limit);
  if (debt == Debt::refused && index >= 0 && set.mode(static_cast<std::size_t>(index)) == Mode::enforce) {
    return base::error(ErrorCode::exhausted, base::quoted(limit), " lacks ",
                       Amount::milli(-tokens).to_string(),
                       " of what the adjust asks for; nothing was changed");
  }
  if (tokens >= -Amount::max_millitokens) return {};
  return base::invalid("the debt of ", base::quoted(limit), " would be too large; charge less");
}

}  // namespace weir::decision

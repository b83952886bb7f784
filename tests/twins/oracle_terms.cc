// The oracle's arithmetic of one limit and of one set of limits.
#include <algorithm>
#include <numeric>

#include "twins/oracle.h"

namespace weir::twins {
namespace {

__extension__ using Wide = __int128;

Wide floor_of(Wide a, Wide b) { return a / b; }
Wide ceiling_of(Wide a, Wide b) { return (a + b - 1) / b; }

}  // namespace

const Terms* find(const Set& set, int limit) {
  for (const NamedTerms& named : set) {
    if (named.limit == limit) return &named.terms;
  }
  return nullptr;
}

std::int64_t granted(const Terms& terms, Time from, Time to) {
  if (to <= from) return 0;
  return static_cast<std::int64_t>(floor_of(Wide{to} * terms.amount, terms.period) -
                                   floor_of(Wide{from} * terms.amount, terms.period));
}

Time moment_granted(const Terms& terms, Time from, std::int64_t missing) {
  if (missing <= 0) return from;
  const Wide target = floor_of(Wide{from} * terms.amount, terms.period) + missing;
  return static_cast<Time>(ceiling_of(target * terms.period, terms.amount));
}

Time time_to_grant(const Terms& terms, std::int64_t tokens) {
  if (terms.concurrent()) return 0;
  return static_cast<Time>(ceiling_of(Wide{tokens} * terms.period, terms.amount));
}

bool slower(const Terms& a, const Terms& b) { return Wide{a.amount} * b.period < Wide{b.amount} * a.period; }

Terms tighter(Terms own, const Terms& other) {
  own.capacity = std::min(own.capacity, other.capacity);
  own.burst = std::min(own.burst, other.burst);
  if (slower(other, own)) {
    const std::int64_t divisor = std::gcd(other.amount, other.period);
    own.amount = other.amount / divisor;
    own.period = other.period / divisor;
  }
  if (own.concurrent()) own.burst = own.capacity;
  return own;
}

void tighten(Set& lowest, const SetRef& other) {
  if (!other) return;
  for (const NamedTerms& named : *other) {
    const auto at = std::lower_bound(lowest.begin(), lowest.end(), named.limit,
                                     [](const NamedTerms& a, int limit) { return a.limit < limit; });
    if (at != lowest.end() && at->limit == named.limit) {
      at->terms = tighter(at->terms, named.terms);
    } else {
      lowest.insert(at, named);
    }
  }
}

}  // namespace weir::twins

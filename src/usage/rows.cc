#include "usage/rows.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::usage {

void add(std::vector<UsedAmount>& sum, std::span<const UsedAmount> amounts) {
  for (const UsedAmount& used : amounts) {
    const auto at =
        std::lower_bound(sum.begin(), sum.end(), used.limit,
                         [](const UsedAmount& known, const std::string& name) { return known.limit < name; });
    if (at == sum.end() || at->limit != used.limit) {
      if (used.amount != Amount()) sum.insert(at, used);
      continue;
    }
    at->amount = Amount::milli(base::wrapping_add(at->amount.millitokens(), used.amount.millitokens()));
    if (at->amount == Amount()) sum.erase(at);
  }
}

void add(Usage& sum, const Usage& row) {
  add(sum.limits, row.limits);
  sum.events += row.events;
}

}  // namespace weir::usage

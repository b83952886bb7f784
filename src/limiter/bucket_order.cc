// The buckets on a resource: those that have little left, and those that have consumed the most.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "base/maxima.h"
#include "base/text.h"
#include "base/wide.h"
#include "limiter/core.h"
#include "limits/names.h"
#include "store/bucket_now.h"

namespace weir::limiter {
namespace {

using base::invalid;
using store::wait_for;

/// Buckets that a sort reads at a time.
constexpr std::size_t buckets_at_once = 10'000;

/// The smallest share of a limit that is left; nothing: no limit counts.
std::optional<std::int64_t> share_left(const Bucket& bucket, const BucketsFilter& filter, Time now) {
  const BucketLimit* const limit = store::tightest(bucket, filter.limit, now);
  if (limit == nullptr) return std::nullopt;
  return store::share_of(store::held_at(bucket, *limit, now), limit->limit.capacity());
}

/// The largest consumption: of a named limit in millitokens, else as a share of the capacity.
std::optional<std::int64_t> most_consumed(const Bucket& bucket, const BucketsFilter& filter) {
  std::optional<std::int64_t> most;
  for (const BucketLimit& limit : bucket.limits) {
    if (!store::is_compared(limit, filter.limit)) continue;
    const std::int64_t consumed = filter.limit.empty()
                                      ? store::share_of(limit.consumed, limit.limit.capacity())
                                      : limit.consumed.millitokens();
    most = std::max(most.value_or(consumed), consumed);
  }
  return most;
}

bool fits(const Bucket& bucket, const BucketsFilter& filter, Time now) {
  if (!filter.below_percent && filter.limit.empty()) return true;
  const auto share = share_left(bucket, filter, now);
  if (!share || !filter.below_percent) return share.has_value();
  // A thousandth of a percent is 10,000 billionths.
  return static_cast<base::Int128>(*share) <
         static_cast<base::Int128>(filter.below_percent->millitokens()) * 10'000;
}

/// A bucket and its place in the order.
struct Ranked {
  std::int64_t rank = 0;
  std::string place;
  Bucket bucket = {};
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return std::tie(a.rank, a.place) < std::tie(b.rank, b.place);
  }
  std::string cursor() const { return base::join(std::to_string(rank), " ", place); }
};

/// Nothing: no limit of the bucket counts.
std::optional<Ranked> ranked(Bucket bucket, const BucketsFilter& filter, Time now) {
  const bool by_consumption = filter.order == BucketOrder::consumed;
  const auto value = by_consumption ? most_consumed(bucket, filter) : share_left(bucket, filter, now);
  if (!value) return std::nullopt;
  std::string place = store::place_of(bucket.entity, bucket.resource);
  return Ranked{by_consumption ? -*value : *value, std::move(place), std::move(bucket)};
}

/// Reads the cursor of a sorted page; nothing where it is not one.
std::optional<Ranked> read_place(std::string_view cursor) {
  const std::size_t space = cursor.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const bool negative = cursor.starts_with('-');
  const auto rank = base::parse_digits(cursor.substr(negative ? 1 : 0, space - (negative ? 1 : 0)));
  if (!rank) return std::nullopt;
  return Ranked{negative ? -*rank : *rank, std::string(cursor.substr(space + 1))};
}

Result<void> check_filter(std::string_view resource, const BucketsFilter& filter) {
  if (!resource.empty()) {
    if (auto checked = limits::check_resource(resource); !checked) return checked;
  }
  if (!filter.limit.empty()) {
    if (auto checked = limits::check_limit_name(filter.limit); !checked) return checked;
  }
  if (filter.below_percent && *filter.below_percent <= Amount())
    return invalid("below must be more than 0 percent, such as 10");
  return {};
}

}  // namespace

Result<Page<Bucket>> Core::list_on(std::string_view resource, const Paging& paging) {
  return wait_for<Page<Bucket>>(
      [&](auto done) { store_.buckets().list_on(name_space_, resource, paging, done); });
}

Result<Page<Bucket>> Core::filtered_buckets(std::string_view resource, const BucketsFilter& filter,
                                            const Paging& paging) {
  const Time now = store_.now();
  Page<Bucket> page{.items = {}, .next = paging.cursor};
  // A filter may drop most of them, so more are read at a time.
  const bool filters = filter.below_percent || !filter.limit.empty();
  std::size_t read = 0;
  do {
    const std::size_t room = paging.limit - page.items.size();
    auto part = list_on(resource, {.cursor = page.next, .limit = filters ? maxima::page : room});
    if (!part) return part;
    read += part->items.size();
    for (Bucket& bucket : part->items) {
      if (!fits(bucket, filter, now)) continue;
      if (page.items.size() == paging.limit) {
        page.next = store::place_of(page.items.back().entity, page.items.back().resource);
        return page;
      }
      page.items.push_back(std::move(bucket));
    }
    page.next = std::move(part->next);
  } while (!page.next.empty() && page.items.size() < paging.limit && read < maxima::read_for_a_page);
  return page;
}

Result<Page<Bucket>> Core::sorted_buckets(std::string_view resource, const BucketsFilter& filter,
                                          const Paging& paging) {
  const auto after = read_place(paging.cursor);
  if (!paging.cursor.empty() && !after)
    return invalid("this cursor is not one of a sorted listing; repeat it without a cursor");
  const Time now = store_.now();
  std::set<Ranked> best;  // at most one more than a page
  std::size_t read = 0;
  Paging at{.cursor = {}, .limit = buckets_at_once};
  do {
    auto part = list_on(resource, at);
    if (!part) return part;
    read += part->items.size();
    if (read > maxima::sorted_buckets) {
      return invalid("there are more than ", std::to_string(maxima::sorted_buckets),
                     " buckets, too many to sort; list them without a sort, page by page");
    }
    for (Bucket& bucket : part->items) {
      if (!fits(bucket, filter, now)) continue;
      auto one = ranked(std::move(bucket), filter, now);
      if (!one || (after && !(*after < *one))) continue;
      best.insert(*std::move(one));
      if (best.size() > paging.limit + 1) best.erase(std::prev(best.end()));
    }
    at.cursor = std::move(part->next);
  } while (!at.cursor.empty());
  Page<Bucket> page;
  const bool more = best.size() > paging.limit;
  if (more) best.erase(std::prev(best.end()));
  if (more) page.next = best.rbegin()->cursor();
  while (!best.empty()) page.items.push_back(std::move(best.extract(best.begin()).value().bucket));
  return page;
}

Result<Page<Bucket>> Core::buckets_on(std::string_view resource, const BucketsFilter& filter,
                                      const Paging& paging) {
  if (auto checked = check_filter(resource, filter); !checked) return checked.error();
  if (auto checked = check_paging(paging); !checked) return checked.error();
  return filter.order == BucketOrder::entity ? filtered_buckets(resource, filter, paging)
                                             : sorted_buckets(resource, filter, paging);
}

}  // namespace weir::limiter

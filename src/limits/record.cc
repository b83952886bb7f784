#include "limits/record.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limits {
namespace {

/// Merges the older of two neighbouring versions into the newer one. Beyond the most names, those that only
/// merged versions have are dropped.
void merge(Version& newer, const Version& older) {
  newer.gap = newer.gap || older.gap || !newer.limits || !older.limits;
  const LimitSetRef both = lowest(newer.limits, older.limits);
  if (!newer.limits || both->size() <= most_merged_names) newer.limits = both;
}

}  // namespace

bool can_be_used(const Version& version) {
  if (version.stamp < 0 || version.stamp > latest_stamp) return false;
  for (std::size_t i = 0; version.limits && i < version.limits->size(); ++i) {
    if (!can_be_merged((*version.limits)[i])) return false;
  }
  return true;
}

bool can_be_used(const NamespaceMark& mark) {
  const auto in_range = [](Time moment) { return moment >= 0 && moment <= latest_stamp; };
  return in_range(mark.created_at) && in_range(mark.purged_at) && in_range(mark.kept_until) &&
         mark.kept_until >= mark.purged_at && (mark.purged_at != 0 || mark.kept_until == 0);
}

std::string encode_mark(const NamespaceMark& mark) {
  if (!mark.is_set()) return {};
  return base::join(std::to_string(mark.created_at), " ", std::to_string(mark.purged_at), " ",
                    std::to_string(mark.kept_until));
}

std::optional<NamespaceMark> decode_mark(std::string_view text) {
  if (text.empty()) return NamespaceMark();
  NamespaceMark mark;
  for (Time* const moment : {&mark.created_at, &mark.purged_at, &mark.kept_until}) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto number = base::parse_digits(text.substr(0, end));
    if (!number) return std::nullopt;
    *moment = *number;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty() && can_be_used(mark) ? std::optional(mark) : std::nullopt;
}

base::Ref<LimitsRecord> next_record(const LimitsRecordRef& old, LimitSetRef limits, Time earliest_stamp,
                                    Time now) {
  auto record = base::make_ref<LimitsRecord>();
  Time stamp = earliest_stamp;
  if (old) {
    const Version last = old->at(now);
    stamp = std::max(stamp, std::min(last.stamp + 1, latest_stamp));
    record->earlier.push_back(last);
    if (last.stamp != old->current.stamp) record->earlier.push_back(old->current);
    record->earlier.insert(record->earlier.end(), old->earlier.begin(), old->earlier.end());
    while (record->earlier.size() > remembered_versions) {
      // A bucket that missed this many changes gets the strictest limits of the oldest ones.
      const Version oldest = record->earlier.back();
      record->earlier.pop_back();
      merge(record->earlier.back(), oldest);
    }
    if (last.limits && limits) {
      record->bucket_ttl_refill_multiplier = old->bucket_ttl_refill_multiplier;
      record->on_unavailable = old->on_unavailable;
      record->usage = old->usage;
    }
    record->name_space = old->name_space;
  }
  record->current = {stamp, std::move(limits)};
  return record;
}

}  // namespace weir::limits

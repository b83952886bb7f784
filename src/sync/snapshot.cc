#include "sync/snapshot.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "json/document.h"
#include "limits/names.h"

namespace weir::sync {
namespace {

constexpr std::size_t most_limits = 16;
/// To each region one for each window that a grant can last, and one more.
constexpr std::size_t most_grants = most_regions * 8;
constexpr Millitokens largest = Amount::max_millitokens;

std::string to_json(const SharedLimit& limit) {
  auto json = base::JsonWriter::object();
  json.number("consumed", limit.consumed).number("tokens", limit.tokens).number("capacity", limit.capacity);
  if (limit.share > 0) json.number("share", limit.share);
  auto windows = base::JsonWriter::array();
  for (const Millitokens used : limit.windows) windows.add(std::to_string(used));
  json.raw("windows", windows.str());
  if (limit.waits) json.flag("waits", true);
  if (!limit.grants.empty()) {
    auto grants = base::JsonWriter::array();
    for (const Grant& grant : limit.grants) {
      grants.add(base::JsonWriter::object()
                     .text("to", grant.to)
                     .number("amount", grant.amount)
                     .number("until_ms", grant.until)
                     .str());
    }
    json.raw("grants", grants.str());
  }
  return json.str();
}

std::string to_json(const Entry& entry) {
  auto json = base::JsonWriter::object();
  json.text("entity", entry.entity).text("resource", entry.resource);
  if (entry.until != 0) json.number("until_ms", entry.until);
  if (entry.operator_owned) json.text("owner", "operator");
  auto limits = base::JsonWriter::object();
  for (const SharedLimit& limit : entry.limits) limits.raw(limit.name, to_json(limit));
  return json.raw("limits", limits.str()).str();
}

/// Reads the parts of a snapshot, with bounds on every number and on the length of every list.
class SnapshotReader {
 public:
  explicit SnapshotReader(std::string_view json) : document_(json, "the snapshot") {}

  Result<Snapshot> read() {
    Snapshot snapshot;
    std::int64_t version = 0;
    document_.members([&](std::string_view key, json::Value& value) {
      if (key == "version") version = document_.integer(value, key);
      // Another version may have other members.
      if (version != snapshot_version) return;
      if (key == "region") snapshot.region = name(value, key, limits::check_entity);
      if (key == "sequence") snapshot.sequence = number(value, key);
      if (key == "window_ms") snapshot.window = number(value, key);
      if (key == "published_at_ms") snapshot.published_at = number(value, key);
      if (key == "entries") {
        document_.elements(value, key, most_entries,
                           [&](json::Value& one) { snapshot.entries.push_back(entry(one)); });
      }
    });
    auto parsed = document_.result(std::move(snapshot));
    if (!parsed.ok())
      return base::error(ErrorCode::unavailable,
                         parsed.malformed.empty() ? parsed.invalid : parsed.malformed);
    if (version != snapshot_version) {
      return base::error(ErrorCode::unavailable, "the snapshot has version ", std::to_string(version),
                         ", and this weir reads version ", std::to_string(snapshot_version),
                         "; use the same weir in every region");
    }
    return finish(std::move(parsed.value));
  }

 private:
  Result<Snapshot> finish(Snapshot snapshot) {
    if (snapshot.region.empty() || snapshot.window < 1)
      return base::error(ErrorCode::unavailable, "the snapshot lacks its region or its window");
    if (snapshot.window > longest_window)
      return base::error(ErrorCode::unavailable, "the snapshot has a window of more than an hour");
    const auto key = [](const Entry& one) { return std::tie(one.entity, one.resource); };
    std::sort(snapshot.entries.begin(), snapshot.entries.end(),
              [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(snapshot.entries.begin(), snapshot.entries.end(),
                                          [&](const Entry& a, const Entry& b) { return key(a) == key(b); });
    if (twice != snapshot.entries.end())
      return base::error(ErrorCode::unavailable, "the snapshot names ", base::quoted(twice->entity),
                         " twice");
    return snapshot;
  }

  template <class Check>
  std::string name(json::Value& value, std::string_view of, Check check) {
    std::string text = document_.text(value, of);
    if (auto checked = check(text); !checked) document_.invalidate(checked.error().message);
    return text;
  }
  Millitokens number(json::Value& value, std::string_view of, Millitokens least = 0) {
    const std::int64_t read = document_.integer(value, of);
    if (read < least || read > largest)
      document_.invalidate(base::join(of, " is out of range: ", std::to_string(read)));
    return read;
  }
  /// A counter, which unlike an amount has no other bound. It is below 0 where a lease gave back more than
  /// its limit has counted since the limit was removed and added again.
  Millitokens consumed(json::Value& value, std::string_view of) {
    return std::max<std::int64_t>(document_.integer(value, of), 0);
  }
  Entry entry(json::Value& element) {
    Entry entry;
    document_.members(element, "entries", [&](std::string_view key, json::Value& value) {
      if (key == "entity") entry.entity = name(value, key, limits::check_entity);
      if (key == "resource") entry.resource = name(value, key, limits::check_resource);
      if (key == "until_ms") entry.until = number(value, key);
      if (key == "owner") entry.operator_owned = document_.text(value, key) == "operator";
      if (key != "limits") return;
      document_.members(value, key, [&](std::string_view limit, json::Value& of) {
        if (auto checked = limits::check_limit_name(limit); !checked)
          document_.invalidate(checked.error().message);
        entry.limits.push_back(shared_limit(limit, of));
      });
    });
    if (entry.entity.empty() || entry.resource.empty() || entry.limits.size() > most_limits)
      document_.invalidate("an entry lacks its entity or resource, or has too many limits");
    return entry;
  }
  SharedLimit shared_limit(std::string_view called, json::Value& object) {
    SharedLimit limit{.name = std::string(called)};
    document_.members(object, called, [&](std::string_view key, json::Value& value) {
      if (key == "consumed") limit.consumed = consumed(value, key);
      if (key == "tokens") limit.tokens = number(value, key, -largest);
      if (key == "capacity") limit.capacity = number(value, key);
      if (key == "share") limit.share = number(value, key);
      if (key == "waits") limit.waits = document_.flag(value, key);
      if (key == "windows") {
        document_.elements(value, key, windows_remembered,
                           [&](json::Value& used) { limit.windows.push_back(number(used, key)); });
      }
      if (key != "grants") return;
      document_.elements(value, key, most_grants,
                         [&](json::Value& one) { limit.grants.push_back(grant(one)); });
    });
    return limit;
  }
  Grant grant(json::Value& object) {
    Grant grant;
    document_.members(object, "grants", [&](std::string_view key, json::Value& value) {
      if (key == "to") grant.to = document_.text(value, key);
      if (key == "amount") grant.amount = number(value, key);
      if (key == "until_ms") grant.until = number(value, key);
    });
    return grant;
  }

  json::Document document_;
};

}  // namespace

Millitokens lent(const std::vector<Grant>& grants, Time now, std::string_view to) {
  std::map<std::string_view, Millitokens> largest_to;
  for (const Grant& grant : grants) {
    if (grant.until <= now || (!to.empty() && grant.to != to)) continue;
    Millitokens& one = largest_to[grant.to];
    one = std::max(one, grant.amount);
  }
  Millitokens sum = 0;
  for (const auto& [region, amount] : largest_to) sum += amount;
  return sum;
}

const SharedLimit* Entry::find(std::string_view name) const {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const SharedLimit& limit) { return limit.name == name; });
  return found == limits.end() ? nullptr : &*found;
}

const Entry* Snapshot::find(std::string_view entity, std::string_view resource) const {
  const std::pair key(entity, resource);
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), key, [](const Entry& entry, const auto& of) {
        return std::pair<std::string_view, std::string_view>(entry.entity, entry.resource) < of;
      });
  const bool found = at != entries.end() && at->entity == entity && at->resource == resource;
  return found ? &*at : nullptr;
}

std::string to_json(const Snapshot& snapshot) {
  auto entries = base::JsonWriter::array();
  for (const Entry& entry : snapshot.entries) entries.add(to_json(entry));
  return base::JsonWriter::object()
      .number("version", snapshot_version)
      .text("region", snapshot.region)
      .number("sequence", snapshot.sequence)
      .number("window_ms", snapshot.window)
      .number("published_at_ms", snapshot.published_at)
      .raw("entries", entries.str())
      .str();
}

Result<Snapshot> read_snapshot(std::string_view json) {
  if (json.size() > largest_snapshot)
    return base::error(ErrorCode::unavailable, "the snapshot is larger than 64 MiB");
  return SnapshotReader(json).read();
}

Result<void> check_moments(const Snapshot& snapshot, Time now, Time clock_spread) {
  constexpr std::string_view advice =
      "; set the clocks right, or delete the snapshot if it is damaged: its region publishes it again";
  if (snapshot.published_at > now + clock_spread) {
    return base::error(ErrorCode::unavailable, "it says that it was published ",
                       std::to_string(snapshot.published_at - now), " ms from now, and clock_spread is ",
                       std::to_string(clock_spread), " ms", advice);
  }
  // A region may have made its grants before its window was shortened.
  const Time latest = now + clock_spread + windows_of_a_share * longest_window;
  for (const Entry& entry : snapshot.entries) {
    for (const SharedLimit& limit : entry.limits) {
      for (const Grant& grant : limit.grants) {
        if (grant.until <= latest) continue;
        return base::error(ErrorCode::unavailable, "it lets ", base::quoted(grant.to), " use ",
                           base::quoted(limit.name), " of ", base::quoted(entry.entity), " until ",
                           std::to_string(grant.until - now),
                           " ms from now, which is longer than a share lasts", advice);
      }
    }
  }
  return {};
}

}  // namespace weir::sync

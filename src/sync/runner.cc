#include "sync/runner.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "base/text.h"

namespace weir::sync {
namespace {

bool is_newer(const Snapshot& one, const Snapshot& than) {
  return std::tie(one.published_at, one.sequence) > std::tie(than.published_at, than.sequence);
}

/// How many shares are written as one change. In Redis more than 64 would clear the caches of other
/// processes. In DynamoDB more than about 30 are several transactions.
constexpr std::size_t batch_size = 25;

/// The change that writes a share. It names the moment of the expiry, and not the time until then: a write
/// that takes long must not make the share last longer.
SetLimits limits_of(const Write& write) {
  return {Level::entity(write.entity, write.resource),
          write.limits,
          {.owner = Owner::sync, .expires_at = write.until, .replaces = write.replaces}};
}

/// Adds the entities that cannot be read to the problems.
void name_unreadable(CycleReport& report) {
  for (const Unreadable& one : report.unreadable) {
    report.problems.push_back(base::join(base::quoted(one.entity), " on ", base::quoted(one.resource),
                                         " cannot be read, and is left out: ", one.message));
  }
}

}  // namespace

Runner::Runner(Limiter& limiter, Exchange& exchange, Settings settings, std::vector<Scope> scopes,
               const Clock& clock, Options options)
    : limiter_(limiter),
      exchange_(exchange),
      scopes_(std::move(scopes)),
      clock_(clock),
      options_(options),
      region_(std::move(settings)) {}

Result<CycleReport> Runner::cycle() {
  CycleReport report;
  if (auto done = restore(); !done) return done.error();
  if (auto done = observe(report); !done) return done.error();
  read_others(report);
  report.writes = region_.decide(clock_.now(), others_);
  report.skipped = report.entries - std::min(report.entries, report.writes.size());
  for (const std::string& problem : region_.problems()) report.problems.push_back(problem);
  for (const Write& write : report.writes) ++report.reasons[write.reason];
  if (options_.dry) return report;
  write(report);
  if (const Snapshot after = region_.snapshot(clock_.now()); region_.lends()) {
    if (auto published = publish(after); !published) report.problems.push_back(published.error().message);
  }
  return report;
}

/// Reads the own store, and publishes what it holds. Nothing of that stays in memory but the state of the
/// region.
Result<void> Runner::observe(CycleReport& report) {
  auto all = keys();
  if (!all) return all.error();
  auto readings = read(*all, report);
  if (!readings) return readings.error();
  report.entries = readings->size();
  return publish(region_.observe(clock_.now(), *readings));
}

Result<void> Runner::publish(const Snapshot& own) {
  if (options_.dry) return {};
  auto tag = exchange_.publish(own.region, to_json(own), tag_);
  // After a conflict the next cycle reads what is there.
  restored_ = tag || tag.error().code != ErrorCode::conflict;
  if (!tag) return tag.error();
  tag_ = *std::move(tag);
  return {};
}

/// Reads the own snapshot: the first time, and after another process has published for this region.
Result<void> Runner::restore() {
  if (restored_) return {};
  auto own = exchange_.read(region_.settings().region);
  if (!own) return own.error();
  tag_.clear();
  if (*own) {
    auto snapshot = read_snapshot((*own)->bytes);
    if (!snapshot) return snapshot.error();
    if (auto moments = check_moments(*snapshot); !moments) {
      return base::error(moments.error().code, "the own snapshot, of region ",
                         base::quoted(region_.settings().region), ": ", moments.error().message);
    }
    region_.restore(*snapshot);
    tag_ = (*own)->tag;
  }
  restored_ = true;
  return {};
}

Result<void> Runner::check_moments(const Snapshot& snapshot) const {
  return sync::check_moments(snapshot, clock_.now(), region_.settings().clock_spread);
}

Result<std::vector<Runner::Key>> Runner::keys() {
  std::vector<Key> keys;
  for (const Scope& scope : scopes_) {
    for (const std::string& entity : scope.entities) keys.emplace_back(entity, scope.resource);
    if (auto added = add_members(scope, keys); !added) return added.error();
    if (!scope.all) continue;
    for (const Key& key : region_.used_only_elsewhere()) {
      if (key.second == scope.resource) keys.push_back(key);
    }
    for (const Key& key : region_.keys()) {
      if (key.second == scope.resource) keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Result<void> Runner::add_members(const Scope& scope, std::vector<Key>& keys) {
  constexpr std::size_t page_size = 1000;
  Paging paging{.cursor = {}, .limit = page_size};
  while (!scope.plan.empty()) {
    auto page = limiter_.members(scope.plan, paging);
    if (!page) return page.error();
    for (std::string& entity : page->items) keys.emplace_back(std::move(entity), scope.resource);
    if (page->next.empty()) break;
    paging.cursor = page->next;
  }
  paging.cursor.clear();
  while (scope.all) {
    auto page = limiter_.entities(paging);
    if (!page) return page.error();
    for (Entity& entity : page->items) keys.emplace_back(std::move(entity.id), scope.resource);
    if (page->next.empty()) break;
    paging.cursor = page->next;
  }
  return {};
}

void Runner::in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) const {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(options_.threads, count); ++i) threads.emplace_back(run);
  run();
}

Result<std::vector<StoreView>> Runner::read(const std::vector<Key>& keys, CycleReport& report) {
  std::vector<Result<StoreView>> results(keys.size(), Result<StoreView>(StoreView{}));
  in_parallel(keys.size(), [&](std::size_t i) { results[i] = read(keys[i]); });
  std::vector<StoreView> readings;
  const Error* first = nullptr;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (results[i]) {
      readings.push_back(*std::move(results[i]));
      continue;
    }
    // Limits may be missing for some entities; they are not shared.
    if (results[i].error().code == ErrorCode::no_limits) continue;
    if (first == nullptr) first = &results[i].error();
    report.unreadable.push_back({keys[i].first, keys[i].second, results[i].error().message});
  }
  // A store that answers nothing is a failure of the cycle, and not of each entity.
  if (readings.empty() && first != nullptr) return *first;
  name_unreadable(report);
  return readings;
}

Result<StoreView> Runner::read(const Key& key) {
  StoreView reading{.entity = key.first, .resource = key.second};
  auto below = limiter_.limits_below(key.first, key.second);
  if (!below) return below.error();
  reading.below = std::move(below->limits);
  Paging paging;
  do {
    auto page = limiter_.buckets(key.first, paging);
    if (!page) return page.error();
    for (Bucket& bucket : page->items) {
      if (bucket.resource == key.second) reading.bucket = std::move(bucket);
    }
    paging.cursor = page->next;
  } while (!paging.cursor.empty() && !reading.bucket);
  // Listings leave out buckets that cannot be read. A decision on such a bucket is an error.
  if (!reading.bucket && region_.may_have_bucket(key.first, key.second)) {
    if (auto look = limiter_.available(key.first, key.second, {}); !look) return look.error();
  }
  if (!region_.must_read_record(key.first, key.second)) return reading;
  auto record = limiter_.limits(Level::entity(key.first, key.second));
  if (!record && record.error().code != ErrorCode::not_found) return record.error();
  if (record) reading.record = *std::move(record);
  reading.record_read = true;
  return reading;
}

/// Reads the newest snapshots. Where one cannot be read, the last one counts, as long as it is not stale.
void Runner::read_others(CycleReport& report) {
  for (const std::string& region : region_.settings().regions) {
    if (region == region_.settings().region) continue;
    auto snapshot = read_other(region);
    if (!snapshot) {
      report.problems.push_back(
          base::join("the snapshot of region ", base::quoted(region), ": ", snapshot.error().message));
      continue;
    }
    if (!*snapshot) continue;
    const auto known = std::find_if(others_.begin(), others_.end(),
                                    [&](const Snapshot& other) { return other.region == region; });
    if (known == others_.end()) {
      others_.push_back(**std::move(snapshot));
    } else if (is_newer(**snapshot, *known)) {
      *known = **std::move(snapshot);
    }
  }
}

Result<std::optional<Snapshot>> Runner::read_other(const std::string& region) {
  auto object = exchange_.read(region);
  if (!object) return object.error();
  if (!*object) return std::optional<Snapshot>();
  auto snapshot = read_snapshot((*object)->bytes);
  if (!snapshot) return snapshot.error();
  if (snapshot->region != region) {
    return base::error(ErrorCode::unavailable, "it is that of ", base::quoted(snapshot->region),
                       "; each region needs its own name");
  }
  if (auto moments = check_moments(*snapshot); !moments) return moments.error();
  return std::optional(*std::move(snapshot));
}

void Runner::write(CycleReport& report) {
  std::vector<Written> all(report.writes.size());
  const std::size_t batches = (all.size() + batch_size - 1) / batch_size;
  in_parallel(batches, [&](std::size_t i) {
    const std::size_t begin = i * batch_size;
    const std::size_t size = std::min(batch_size, all.size() - begin);
    write(std::span(report.writes).subspan(begin, size), std::span(all).subspan(begin, size));
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Outcome outcome = all[i].outcome;
    region_.wrote(report.writes[i], outcome, all[i].until, all[i].version);
    if (outcome == Outcome::written) ++report.written;
    if (outcome == Outcome::operator_owned) ++report.operator_owned;
    if (outcome != Outcome::failed) continue;
    ++report.failed;
    report.problems.push_back(base::join("the share of ", base::quoted(report.writes[i].entity), " on ",
                                         base::quoted(report.writes[i].resource),
                                         " was not written: ", all[i].problem));
  }
}

/// Writes several shares as one change. If one of them is refused, none is written, and each is tried alone.
void Runner::write(std::span<const Write> writes, std::span<Written> outcomes) {
  std::vector<SetLimits> levels;
  std::vector<Written*> of_levels;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (auto made = make_bucket(writes[i]); !made) {
      outcomes[i].problem = made.error().message;
      continue;
    }
    levels.push_back(limits_of(writes[i]));
    of_levels.push_back(&outcomes[i]);
  }
  if (levels.empty()) return;
  const auto stored = limiter_.set_limits(levels);
  const bool refused = !stored && (stored.error().code == ErrorCode::operator_owned ||
                                   stored.error().code == ErrorCode::conflict ||
                                   stored.error().code == ErrorCode::invalid_argument);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (stored) *of_levels[i] = written((*stored)[i]);
    if (!stored && !refused) of_levels[i]->problem = stored.error().message;
    if (refused) *of_levels[i] = write_alone(levels[i]);
  }
}

Runner::Written Runner::write_alone(const SetLimits& level) {
  const auto stored = limiter_.set_limits(std::span(&level, 1));
  if (stored) return written(stored->front());
  const bool owned = stored.error().code == ErrorCode::operator_owned;
  return {.outcome = owned ? Outcome::operator_owned : Outcome::failed, .problem = stored.error().message};
}

Runner::Written Runner::written(const StoredLimits& stored) {
  return {Outcome::written, stored.expires_at.value_or(0), stored.version};
}

/// A bucket that is made after a raise would begin full by the new limits.
Result<void> Runner::make_bucket(const Write& write) {
  if (!write.without_bucket || write.shares.empty()) return {};
  const Charge nothing[] = {{write.shares.front().first, Amount()}};
  auto made = limiter_.acquire(write.entity, write.resource, nothing);
  if (!made) return made.error();
  if (made->block() != nullptr || made->limits().empty())
    return base::error(ErrorCode::conflict, "no bucket can be made while the entity is blocked or exempt");
  return {};
}

}  // namespace weir::sync

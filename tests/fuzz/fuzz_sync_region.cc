// A region that continues from a snapshot and meets the same one of another region. It writes shares within
// the whole that end in time, and what it publishes can be read by the others.
#include <cstdlib>
#include <string_view>

#include "sync/region.h"

namespace {

using namespace weir;
using namespace weir::sync;

constexpr Time start = 1'700'000'000'000;
constexpr Millitokens whole = 600'000;

void require(bool holds) {
  if (!holds) std::abort();
}

/// As the store of the region has them: a bucket, and no share.
std::vector<StoreView> readings_of(const Snapshot& snapshot, Time now) {
  const Limit limit = *Limit::parse("600/min");
  std::vector<StoreView> readings;
  for (const Entry& entry : snapshot.entries) {
    StoreView view{.entity = entry.entity, .resource = entry.resource, .record_read = true};
    Bucket bucket{.entity = entry.entity, .resource = entry.resource, .refilled_at = now};
    for (const SharedLimit& shared : entry.limits) {
      view.below.push_back({shared.name, limit});
      BucketLimit& held = bucket.limits.emplace_back(BucketLimit{.name = shared.name, .limit = limit});
      held.consumed = 50;
    }
    view.bucket = std::move(bucket);
    readings.push_back(std::move(view));
  }
  return readings;
}

void check_published(const Snapshot& snapshot, Time now, Time clock_spread) {
  const auto read = read_snapshot(to_json(snapshot));
  require(read && *read == snapshot);
  require(check_moments(*read, now, clock_spread).ok());
}

void check_cycles(Snapshot snapshot, Floor floor) {
  const Settings settings{.region = "eu", .regions = {"eu", "us"}, .floor = floor};
  Region region(settings);
  snapshot.region = "eu";
  region.restore(snapshot);
  snapshot.region = "us";
  for (Time now = start; now <= start + 2 * settings.window; now += settings.window) {
    check_published(region.observe(now, readings_of(snapshot, now)), now, settings.clock_spread);
    for (const Write& write : region.decide(now, std::vector{snapshot})) {
      require(write.until <= now + settings.lifetime());
      for (const auto& [name, share] : write.shares)
        require(share >= 1 && share <= (floor == Floor::share ? 2 * whole : whole));
      region.wrote(write, Outcome::written, write.until, 1);
    }
    check_published(region.snapshot(now), now, settings.clock_spread);
    snapshot.published_at = now;
    ++snapshot.sequence;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto snapshot = read_snapshot({reinterpret_cast<const char*>(data), size});
  // Lists that are as long as they may be have no room for what the region adds.
  if (!snapshot || snapshot->window > 60'000 || !check_moments(*snapshot, start, 2'000)) return 0;
  for (const Floor floor : {Floor::whole, Floor::share}) check_cycles(*snapshot, floor);
  return 0;
}

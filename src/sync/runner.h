// Runs the cycles of one region: reads its store, exchanges snapshots, writes its shares.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sync/exchange.h"
#include "sync/region.h"
#include "weir/limiter.h"

namespace weir::sync {

/// The shared limits: those of some entities on a resource.
struct Scope {
  std::string resource;
  bool all = false;  ///< every stored entity, and those that other regions use
  std::vector<std::string> entities = {};
  std::string plan = {};  ///< and the members of this plan
};

/// An entity that a cycle left out, because something about it in the store cannot be read.
struct Unreadable {
  std::string entity;
  std::string resource;
  std::string message;
};

/// What one cycle did.
struct CycleReport {
  std::size_t entries = 0;  ///< entities on resources that were looked at
  std::size_t written = 0;
  std::size_t operator_owned = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;  ///< entries without a reason to write
  std::map<Reason, std::size_t> reasons = {};
  std::vector<Write> writes = {};  ///< all that were decided
  std::vector<Unreadable> unreadable = {};
  std::vector<std::string> problems = {};
};

/// Not safe for concurrent use.
class Runner {
 public:
  struct Options {
    bool dry = false;         ///< publishes and writes nothing
    std::size_t threads = 8;  ///< that read and write the store at once
  };
  Runner(Limiter& limiter, Exchange& exchange, Settings settings, std::vector<Scope> scopes,
         const Clock& clock, Options options);

  /// One cycle. The error is that of the own store or of the exchange; the next cycle may succeed. Where only
  /// some entities cannot be read, the cycle leaves them out.
  Result<CycleReport> cycle();
  const Region& region() const { return region_; }

 private:
  using Key = std::pair<std::string, std::string>;
  Result<void> restore();
  Result<void> observe(CycleReport& report);
  Result<void> publish(const Snapshot& own);
  Result<std::vector<Key>> keys();
  Result<void> add_members(const Scope& scope, std::vector<Key>& keys);
  Result<std::vector<StoreView>> read(const std::vector<Key>& keys, CycleReport& report);
  Result<StoreView> read(const Key& key);
  void read_others(CycleReport& report);
  Result<std::optional<Snapshot>> read_other(const std::string& region);
  Result<void> check_moments(const Snapshot& snapshot) const;
  void write(CycleReport& report);
  struct Written {
    Outcome outcome = Outcome::failed;
    Time until = 0;
    std::int64_t version = 0;
    std::string problem = {};
  };
  void write(std::span<const Write> writes, std::span<Written> outcomes);
  Written write_alone(const SetLimits& level);
  static Written written(const StoredLimits& stored);
  Result<void> make_bucket(const Write& write);
  /// Calls `work(i)` for every i below `count`, on several threads.
  void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) const;

  Limiter& limiter_;
  Exchange& exchange_;
  const std::vector<Scope> scopes_;
  const Clock& clock_;
  const Options options_;
  Region region_;
  bool restored_ = false;
  std::string tag_;               ///< of the own snapshot
  std::vector<Snapshot> others_;  ///< the newest of each other region
};

}  // namespace weir::sync

// The metrics of weir for Prometheus; docs/metrics.md lists them.
//
// A decision costs a lookup in a read-only table, and three additions to memory that no other thread writes.
// Everything else happens during a scrape.
#pragma once

#include <prometheus/collectable.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lock.h"
#include "store/counter.h"
#include "telemetry/cells.h"
#include "telemetry/labels.h"

namespace weir::telemetry {

/// How an acquire ended.
enum class Outcome : unsigned char { admitted, refused, never_fits, degraded, contended, error };
inline constexpr std::array<const char*, 6> outcome_names = {"admitted", "refused",   "never_fits",
                                                             "degraded", "contended", "error"};

/// The operations of a store. `commit` is for stores that write for several callers at once.
enum class StoreOp : unsigned char {
  acquire,
  available,
  adjust,
  settle,
  rollback,
  read,
  write,
  commit,
  extend
};
inline constexpr std::array<const char*, 9> store_op_names = {
    "acquire", "available", "adjust", "settle", "rollback", "read", "write", "commit", "extend"};

/// The results of writes of limits by sync.
enum class SyncWrite : unsigned char { written, operator_owned, skipped };
inline constexpr std::array<const char*, 3> sync_write_names = {"written", "operator_owned", "skipped"};

struct MetricsOptions {
  std::string store = "memory";         ///< the kind of store, as a label
  std::vector<std::string_view> calls;  ///< the names of calls, with static lifetime
  Labels::Most most = {};               ///< the bound of labels with untrusted names
  base::HashSeed seed = {0x9e3779b97f4a7c15, 0xd1b54a32d192ed03};  ///< odd and unpredictable numbers
};

/// Safe to use from any thread.
class Metrics final : public prometheus::Collectable {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics() override;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// An acquire ended; the names are valid ones. `known_only`: adds no label for an unknown pair, for errors
  /// that any caller can cause with any name.
  void decided(std::string_view name_space, std::string_view resource, Outcome outcome,
               std::chrono::nanoseconds took, bool known_only = false);
  /// The number of a pair of names, for callers that count it often.
  std::size_t pair_of(std::string_view name_space, std::string_view resource, bool known_only = false) {
    return labels_.id_of(name_space, resource, known_only);
  }
  void decided(std::size_t pair, Outcome outcome, std::chrono::nanoseconds took);
  /// It was admitted, and a limit in shadow mode would have refused it.
  void would_refuse(std::string_view name_space, std::string_view resource);
  /// Another operation of the store has ended.
  void store_took(StoreOp op, std::chrono::nanoseconds took);
  /// A request was answered; `call` is an index into MetricsOptions::calls.
  void answered(std::size_t call, int status);

  void set_store_up(bool up) { store_up_.store(up, std::memory_order_relaxed); }
  bool store_up() const { return store_up_.load(std::memory_order_relaxed); }
  void taken_from_sync() { taken_from_sync_.fetch_add(1, std::memory_order_relaxed); }
  void sync_write(SyncWrite result) {
    sync_writes_[static_cast<std::size_t>(result)].fetch_add(1, std::memory_order_relaxed);
  }

  /// Further metrics, read at each scrape. `read` is called from any thread and must work as long as scrapes
  /// are possible.
  void add_gauge(std::string name, std::string help, std::function<double()> read);
  void add_counter(std::string name, std::string help, std::function<double()> read);
  /// Counters whose names only their source knows.
  void add_counters(std::function<std::vector<store::Counter>()> read);

  /// All metrics, summed over the threads.
  std::vector<prometheus::MetricFamily> Collect() const override;
  /// The same in the text format 0.0.4.
  std::string text() const;
  static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct Shard;
  struct Extra {
    std::string name;
    std::string help;
    bool counter;
    std::function<double()> read;
  };

  Shard& shard();
  Shard& find_shard();
  std::vector<const Shard*> all_shards() const;
  prometheus::MetricFamily decisions(const std::vector<const Shard*>& shards) const;
  prometheus::MetricFamily would_refuses(const std::vector<const Shard*>& shards) const;
  prometheus::MetricFamily decision_durations(const std::vector<const Shard*>& shards) const;
  prometheus::MetricFamily store_durations(const std::vector<const Shard*>& shards) const;
  prometheus::MetricFamily requests(const std::vector<const Shard*>& shards) const;
  prometheus::MetricFamily sync_writes() const;

  const MetricsOptions options_;
  const std::uint64_t number_;  ///< unique among all instances of this process
  Labels labels_;
  std::atomic<bool> store_up_{true};
  std::atomic<std::uint64_t> taken_from_sync_{0};
  std::array<std::atomic<std::uint64_t>, sync_write_names.size()> sync_writes_{};
  mutable base::Mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Shard>> shards_ WEIR_GUARDED_BY(mutex_);  ///< by thread
  std::vector<Extra> extras_ WEIR_GUARDED_BY(mutex_);
  std::vector<std::function<std::vector<store::Counter>()>> sources_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::telemetry

// A world: the oracle and a real store that are asked for the same and must not differ in a word.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "twins/ideal.h"
#include "twins/live_leases.h"
#include "twins/op.h"
#include "twins/oracle.h"
#include "weir/weir.h"

namespace weir::twins {

/// Longer than nearly every world lasts.
inline constexpr std::chrono::years keep_audit_for{1000};
inline constexpr std::chrono::years keep_usage_for{1000};

/// What the oracle must know about a kind of store, all of it stated in docs/guarantees.md.
struct Traits {
  Time first_moment = 1'700'000'000'000;
  Time clock_bound = 60'000;
  bool shared = true;           ///< a second limiter sees the same buckets
  bool reopens = false;         ///< what is there stays when every limiter is closed
  bool clock_goes_back = true;  ///< it is exact where the clock does
  /// Writes may leave the refill time and the expiry of a bucket as they were: a record then says the same by
  /// other numbers, and expires up to an eighth and this margin later than it must.
  std::optional<Time> blind_margin = {};
  bool counts_usage = false;
  bool hears_later = false;  ///< changes of the catalog reach other limiters a moment later
};

/// One store, new and empty.
class Store {
 public:
  virtual ~Store() = default;
  virtual Result<Limiter> open(const Options& options) = 0;
  /// Called between steps, for stores that want to make them harder.
  virtual void between() {}
  /// Called before usage is compared, for stores that count it later. Returns what went wrong; empty:
  /// nothing.
  virtual std::string collect_usage() { return {}; }
};

struct StoreKind {
  std::string name;
  Traits traits;
  std::function<std::unique_ptr<Store>()> make;
};

struct WorldConfig {
  Oracle::Config oracle;
  /// Of Options; the oracle's may come from the system's limits.
  int multiplier = 7;
  Time start = 0;  ///< after the first moment of the store
};

/// What a step did, for those who count.
struct Observed {
  bool skipped = false;
  Answer answer;            ///< of the oracle
  bool new_bucket = false;  ///< the charged entity had none and never had
  bool existing_bucket = false;
  bool expired_bucket = false;
  bool reborn = false;    ///< the lease's own bucket is not the one that was charged
  bool repaired = false;  ///< a bucket of the chain was refilled ahead of the clock beyond the bound
};

class World {
 public:
  World(const WorldConfig& config, const StoreKind& kind);

  /// Empty: the twins agree.
  std::string run(const Op& op);
  /// Compares the buckets and limits of everybody.
  std::string compare_all();

  const Oracle& oracle() const { return oracle_; }
  Time now() const { return now_; }
  const Observed& observed() const { return observed_; }
  struct HeldLease {
    int lease = -1;  ///< the oracle's
    std::string id;
    std::unique_ptr<Decision> handle;
  };
  const std::map<int, HeldLease>& leases() const { return leases_; }
  /// A lease that the store may have forgotten, since the clock was past its deadline before it went back.
  bool forgettable(const Lease& lease) const { return lease.deadline <= latest_; }
  const Traits& traits() const { return kind_.traits; }

 private:
  std::string open();
  Limiter& limiter(const Op& op);
  std::string run_one(const Op& op);
  std::string acquire(const Op& op);
  std::string look(const Op& op);
  std::string advance(const Op& op);
  void set_clock(Time to);
  std::string change(const Op& op);
  std::string correct(const Op& op);
  std::string extend(const Op& op, HeldLease& lease);
  std::string check_ideals(int resource, IdealBuckets::Step step);
  std::string set_limits(const Op& op);
  std::string change_access(const Op& op);
  std::string compare_entity(int entity, bool other);
  std::string compare_usage(int entity);
  std::string compare_limits();
  std::string compare_entities();
  std::string compare_plans();
  std::string compare_audit();
  std::string compare(const Result<Decision>& real, const Answer& ideal, int resource);
  std::string compare(const LimitReport& real, const Answer& ideal, int resource);
  std::string keep(const Op& op, Result<Decision>& real, const Answer& ideal);
  std::string probe(const Request& request, const Answer& refused) const;
  void observe(const Request& request);
  const RequestLimits* limits_of(const SetRef& set);
  std::string hear();
  bool heard(Limiter& limiter) const;
  bool heard_exemption(Limiter& limiter, int entity, int resource) const;
  bool same_wait(std::optional<Time> told, const Answer& answer) const;

  const StoreKind& kind_;
  const WorldConfig config_;
  Oracle oracle_;
  IdealBuckets ideal_;
  LiveLeases live_leases_;
  FakeClock clock_;
  Time now_;
  Time latest_;
  std::unique_ptr<Store> store_;
  std::vector<Limiter> limiters_;
  std::map<int, HeldLease>
      leases_;  // by the id of the acquire; after the limiters: leases must not outlive them
  std::map<int, std::string> ids_;  // by the oracle's lease
  std::vector<std::pair<SetRef, RequestLimits>> request_limits_;
  Observed observed_;
  bool has_rules_ = false;     ///< some were set
  Time hidden_until_ = never;  ///< until then, blocks may hide what limiters have not heard of yet
  std::vector<Charge> charges_;
};

}  // namespace weir::twins

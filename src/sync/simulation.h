// Regions in one process: each has its own store in memory, its own clock and its own sync, and they exchange
// snapshots in memory. For `weir sync simulate`, and for tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sync/runner.h"

namespace weir::sync {

/// Keeps every snapshot that was published.
class MemoryExchange : public Exchange {
 public:
  Result<std::optional<Object>> read(std::string_view region) override;
  Result<std::string> publish(std::string_view region, const std::string& bytes,
                              std::string_view expected) override;

 protected:
  const std::vector<Object>& published(std::string_view region) { return objects_[std::string(region)]; }

 private:
  std::map<std::string, std::vector<Object>> objects_;
};

/// Regions with stores in memory.
class Simulation {
 public:
  struct Options {
    std::vector<std::string> regions;  ///< sorted
    std::vector<NamedLimit> limits;    ///< the whole
    std::vector<std::string> entities;
    std::string resource = "r";
    Floor floor = Floor::whole;
    Time window = 10'000;
    Time clock_spread = 2'000;
    std::vector<Time> clock_errors = {};  ///< of each region; missing ones are 0
    std::map<std::string, Millitokens, std::less<>> least = {};
    /// Called where a process of a region may be delayed: after each time that its sync reads the clock.
    std::function<void(std::size_t region)> delay = {};
  };
  static Result<std::unique_ptr<Simulation>> make(Options options, Exchange& exchange);

  /// Sets what the level below the shares says in a region: the whole, or its fair share.
  void start(std::size_t region);
  /// Its sync ends; its store goes on.
  void stop(std::size_t region);
  /// A further process that runs the sync of a region.
  std::unique_ptr<Runner> another_process(std::size_t region);
  bool runs(std::size_t region) const { return places_[region].runner != nullptr; }
  Result<CycleReport> cycle(std::size_t region) { return places_[region].runner->cycle(); }

  void advance(Time by);
  Time now() const { return now_; }
  Limiter& limiter(std::size_t region) { return *places_[region].limiter; }
  const Runner& runner(std::size_t region) const { return *places_[region].runner; }
  /// Takes as much as the region has, at most `amount`, of every limit. Returns what it took.
  Millitokens take(std::size_t region, const std::string& entity, Millitokens amount);
  /// The limit that the region's store enforces now.
  Limit in_force(std::size_t region, const std::string& entity, const std::string& limit);

 private:
  struct Place {
    std::unique_ptr<FakeClock> clock;
    std::unique_ptr<Clock> delayed_clock;  ///< of its sync
    std::unique_ptr<Limiter> limiter;
    std::unique_ptr<Runner> runner;
  };
  Simulation(Options options, Exchange& exchange) : options_(std::move(options)), exchange_(exchange) {}
  Result<void> open(std::size_t region);

  const Options options_;
  Exchange& exchange_;
  Time now_ = 1'700'000'000'000;
  std::vector<Place> places_;
};

}  // namespace weir::sync

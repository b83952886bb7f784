// A world of regions that share limits, over simulated time: the code that runs, with clocks, stores and an
// exchange in memory. On every step the shares in force are summed, and everything that was admitted is held
// against one bucket that has the whole limit.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sync/simulation.h"

namespace weir::sync {

/// Sanitizers make a simulation twenty times as slow, and get a part of it.
#ifdef WEIR_SIMULATED_PART
inline constexpr int part = WEIR_SIMULATED_PART;
#else
inline constexpr int part = 1;
#endif

/// Loses, delays and reorders snapshots.
class FaultyExchange final : public MemoryExchange {
 public:
  explicit FaultyExchange(std::uint64_t seed) : random_(seed) {}
  double fails = 0;
  double late = 0;  ///< how often a reader gets an older snapshot

  Result<std::optional<Object>> read(std::string_view region) override;
  Result<std::string> publish(std::string_view region, const std::string& bytes,
                              std::string_view expected) override;

 private:
  bool chance(double of) { return std::uniform_real_distribution<>()(random_) < of; }
  std::mt19937_64 random_;
};

/// One bucket with the whole limit, in real time: it must hold everything that any region admits.
class WholeBucket {
 public:
  explicit WholeBucket(const Limit& limit) : limit_(limit), tokens_(limit.burst().millitokens() * scale()) {}
  void refill(Time by);
  void take(Millitokens amount);
  /// How far below 0 it ever was, in millitokens.
  Millitokens excess() const { return -least_ / scale(); }

 private:
  Millitokens scale() const { return limit_.refill_period().count(); }
  Limit limit_;
  Millitokens tokens_;
  Millitokens least_ = 0;
};

struct WorldPlan {
  std::size_t regions = 3;
  std::size_t entities = 2;
  Floor floor = Floor::share;
  Time spread = 2'000;
  double fails = 0;
  double late = 0;
  double stops = 0;       ///< how often a region's sync stops, for each window
  double delays = 0;      ///< how often a process is delayed where it reads the clock
  bool two_each = false;  ///< every region has two processes that sync
  int windows = 100;
  int steps = 20;  ///< of a window, in each of which every entity is used
  std::uint64_t seed = 1;
};

/// Demand that shifts, bursts and rests, in millitokens for each window.
struct Shifting {
  std::uint64_t seed;
  Millitokens operator()(int window, std::size_t region, std::size_t entity) const;
};

class World {
 public:
  /// The demand in a window, in millitokens.
  using Demand = std::function<Millitokens(int window, std::size_t region, std::size_t entity)>;

  explicit World(const WorldPlan& plan);
  void run(int windows, Demand demand);

  double excess() const;
  /// In parts of the whole of `rpm`: the share in force, and the one that demand asks for.
  double share(std::size_t region, std::size_t entity = 0);
  double target(std::size_t region);

  const WorldPlan plan_;
  std::mt19937_64 random_;
  FaultyExchange exchange_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<NamedLimit> limits_;
  std::vector<std::string> entities_;
  double most_ = 0;  ///< the largest sum of shares in force, in parts of the whole
  std::map<Reason, std::size_t> reasons_;
  std::size_t cycles_ = 0, written_ = 0, renewed_ = 0, entries_ = 0, failed_cycles_ = 0, failed_writes_ = 0,
              stopped_ = 0, delayed_ = 0;
  std::vector<std::size_t> conflicts_;  ///< of each process: cycles that found another one of its region
  std::vector<std::size_t> completed_;  ///< of each process: cycles without an error

 private:
  /// A process that syncs a region. The first ones are those of the simulation, one for each region.
  struct Process {
    std::size_t region = 0;
    int phase = 0;  ///< the step of each window at which its cycles begin
    bool in_cycle = false;
    std::unique_ptr<Runner> further = {};  ///< null: that of the simulation
  };
  void step();
  void check();
  void delay();
  void stop_or_start(Process& process);
  void cycle(Process& process);
  void count(std::size_t process, const Result<CycleReport>& report);
  void take(std::size_t region, std::size_t entity, Millitokens amount);

  Demand demand_;
  std::vector<Process> processes_;
  std::vector<WholeBucket> wholes_;
  int steps_done_ = 0;
  int depth_ = 0;  ///< of delays in which other processes go on
};

}  // namespace weir::sync

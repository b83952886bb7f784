#include "twins/runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "twins/generator.h"
#include "twins/shapes.h"

// Sanitizers take their time; their runs do not have to meet every pair.
#ifndef WEIR_TWINS_SHARE
#define WEIR_TWINS_SHARE 1
#endif

namespace weir::twins {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The first difference that these operations show, with the operation; empty: none.
std::string run_all(const WorldConfig& config, const StoreKind& kind, const std::vector<Op>& ops) {
  World world(config, kind);
  for (const Op& op : ops) {
    if (std::string wrong = world.run(op); !wrong.empty()) return wrong;
  }
  return world.compare_all();
}

/// Drops operations while the rest still shows a difference, for as long as is cheap.
std::vector<Op> shrink(const WorldConfig& config, const StoreKind& kind, std::vector<Op> ops) {
  const auto enough =
      std::chrono::steady_clock::now() + std::chrono::seconds(number_from("WEIR_TWINS_SHRINK", 10));
  for (std::size_t chunk = ops.size() / 2; chunk > 0;) {
    bool dropped = false;
    for (std::size_t end = ops.size(); end >= chunk && chunk > 0;) {
      if (std::chrono::steady_clock::now() > enough) return ops;
      std::vector<Op> fewer = ops;
      fewer.erase(fewer.begin() + static_cast<long>(end - chunk), fewer.begin() + static_cast<long>(end));
      if (!run_all(config, kind, fewer).empty()) {
        ops = std::move(fewer);
        dropped = true;
        end = std::min(end, ops.size());
        if (end < chunk) break;
      } else {
        --end;
        if (chunk > 1) end = end > chunk ? end - chunk / 2 : 0;
      }
    }
    if (!dropped || chunk > 1) chunk = chunk == 1 ? 0 : chunk / 2;
  }
  return ops;
}

std::string lines(const std::vector<Op>& ops, std::size_t last) {
  std::string out;
  for (std::size_t i = ops.size() > last ? ops.size() - last : 0; i < ops.size(); ++i)
    out += "  " + text(ops[i]) + "\n";
  return out;
}

struct Run {
  const StoreKind& kind;
  std::vector<Shape> shapes = covering_array();
  std::uint64_t first_seed = number_from("WEIR_TWINS_SEED", 1);
  std::uint64_t only_shape = number_from("WEIR_TWINS_SHAPE", ~std::uint64_t{0});
  std::uint64_t done = 0;
  std::uint64_t failures = 0;
  PairCounts pairs = {};

  /// With `until_met` the world ends as soon as every pair of its row has been met.
  void world(std::size_t row, std::uint64_t seed, std::uint64_t steps, bool until_met);
  bool lacks(std::size_t row, const PairCounts::Seen& seen = {}) const {
    return pairs.lacks(shapes[row], kind.traits.clock_goes_back, seen);
  }
  void report(std::size_t row, std::uint64_t seed, const WorldConfig& config, const std::vector<Op>& ops,
              const std::string& wrong);
};

void Run::report(std::size_t row, std::uint64_t seed, const WorldConfig& config, const std::vector<Op>& ops,
                 const std::string& wrong) {
  const std::vector<Op> fewest = shrink(config, kind, ops);
  ADD_FAILURE() << kind.name << ": the twins differ with WEIR_TWINS_SEED=" << seed
                << " WEIR_TWINS_SHAPE=" << row << "\n"
                << shapes[row].text() << "; multiplier of the options " << config.multiplier
                << ", leases for " << config.oracle.lease_for << "ms, starts at "
                << kind.traits.first_moment + config.start << "\n"
                << wrong << "\nlast operations:\n"
                << lines(ops, 20) << "the fewest that differ (" << run_all(config, kind, fewest) << "):\n"
                << lines(fewest, 60);
  ++failures;
}

void Run::world(std::size_t row, std::uint64_t seed, std::uint64_t steps, bool until_met) {
  Generator generator(shapes[row], seed * 1000 + row, kind.traits);
  World world(generator.config(), kind);
  std::vector<Op> ops;
  std::string wrong;
  const auto step = [&](const Op& op) {
    ops.push_back(op);
    wrong = world.run(op);
    if (wrong.empty()) generator.saw(op, world);
    return wrong.empty();
  };
  bool same = true;
  for (const Op& op : generator.setup()) same = same && step(op);
  const auto goes_on = [&] { return !until_met || lacks(row, generator.seen()); };
  for (std::uint64_t i = 0; same && i < steps && goes_on(); ++i, ++done) same = step(generator.next(world));
  if (same) {
    wrong = world.compare_all();
    same = wrong.empty();
  }
  pairs.add(shapes[row], generator.seen());
  if (!same) report(row, seed, generator.config(), ops, wrong);
}

}  // namespace

void run_twins(const StoreKind& kind, std::uint64_t steps) {
  Run run{kind};
  const std::uint64_t total = number_from("WEIR_TWINS_STEPS", steps / WEIR_TWINS_SHARE);
  const std::uint64_t most_failures = number_from("WEIR_TWINS_FAILURES", 1);
  const std::uint64_t rows = run.only_shape < run.shapes.size() ? 1 : run.shapes.size();
  constexpr std::uint64_t longest_world = 1000;
  const std::uint64_t per_world = std::min(longest_world, total / rows + 1);
  const auto start = std::chrono::steady_clock::now();
  const auto round = [&](std::uint64_t seed, std::uint64_t length, bool all) {
    for (std::size_t row = 0; row < run.shapes.size() && run.failures < most_failures; ++row) {
      if (rows == 1 && row != run.only_shape) continue;
      if (all || run.lacks(row)) run.world(row, seed, length, !all);
    }
  };
  std::uint64_t seed = run.first_seed;
  while (run.done < total && run.failures < most_failures) round(seed++, per_world, true);
  // A pair that chance has left out is looked for where it can be met, in worlds long enough for rare pairs:
  // where the steps are few, a world of the first rounds can end before a bucket has expired.
  constexpr int most_rounds = 40;
  const auto lacks = [&] { return !run.pairs.missing(kind.traits.clock_goes_back).empty(); };
  for (int more = 0; more < most_rounds && WEIR_TWINS_SHARE == 1 && rows > 1 && lacks(); ++more)
    round(seed++, longest_world, false);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto missing = run.pairs.missing(kind.traits.clock_goes_back);
  std::printf("%s: %llu steps in %zu shapes, %.0f a second\n", kind.name.c_str(),
              static_cast<unsigned long long>(run.done), run.shapes.size(),
              static_cast<double>(run.done) / took.count());
  if (run.failures > 0 || rows == 1 || WEIR_TWINS_SHARE > 1) return;
  std::printf("how often each pair of values was met:\n%s", run.pairs.table().c_str());
  for (const std::string& pair : missing) ADD_FAILURE() << kind.name << ": never met: " << pair;
}

}  // namespace weir::twins

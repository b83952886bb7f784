// The scenarios, in batches: every combination of some operations for some clients, in one kind of world.
#pragma once

#include "checker.h"

namespace weir::model {

using Sequence = std::vector<Operation>;

struct Batch {
  std::string name;
  std::string about;
  Scenario world;
  std::vector<Sequence> sequences;  ///< what a client may do
  int clients = 2;
  int part = 1;             ///< of the full run, which is split so that parts can run beside each other
  std::size_t density = 1;  ///< of a sample, times that of other batches: for those of few combinations
  /// Whether the clients can be told apart otherwise than by what they do.
  bool told_apart() const { return world.request_limits || world.skew != std::array<int, max_clients>{}; }
};

std::vector<Batch> all_batches();
/// Those of concurrent limits (batches_concurrent.cc).
void add_concurrent(std::vector<Batch>& all);

/// Each operation alone and each pair, and an acquire that is rolled back or settled.
std::vector<Sequence> pairs(const std::vector<Operation>& operations);
/// Each operation alone, and an acquire that is rolled back.
std::vector<Sequence> singles(const std::vector<Operation>& operations);

struct Total {
  std::size_t runs = 0;
  std::size_t states = 0;
  Finding finding;       ///< the first violation, if any
  std::string scenario;  ///< where it was
};

/// Runs every `stride`-th combination of a batch, up to the first violation.
Total run(const Batch& batch, std::size_t stride);

}  // namespace weir::model

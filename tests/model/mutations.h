// One thing wrong at a time: done to the writes that a machine has made, to what it is told, or to the world
// around it. The machines themselves have no switches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/conditional/machine.h"

namespace weir::model {

struct Scenario;

/// What a machine knew when it made a write.
struct Grounds {
  const conditional::Snapshot& snapshot;
  const limits::Resolution& resolution;
  const conditional::Settings& settings;
  Time now;
};

struct Mutation {
  std::string name;
  std::string batch;  ///< where it is looked for
  /// To what a machine sends.
  void (*sent)(conditional::Transaction&, const Grounds&) = nullptr;
  /// To what it is told.
  void (*heard)(conditional::Event&) = nullptr;
  /// To what it is asked.
  void (*planned)(std::vector<conditional::BucketPlan>&) = nullptr;
  /// To a transaction when it arrives, where the marker is like this.
  void (*delivered)(conditional::Transaction&, const std::optional<conditional::Marker>&) = nullptr;
  /// To the clock that a machine is given.
  Time (*clock)(Time) = nullptr;
  /// To the world.
  void (*world)(Scenario&) = nullptr;
  bool trusts_images = false;  ///< images from before are told to a machine as if they were read
  Time stamp_late = 0;         ///< by how much the stamp of new limits lies in the past
  bool moves_blindly = false;  ///< a move does not keep buckets from being made while it looks for them
};

/// The mutations of each kind are in a file of their own: mutations_writes.cc and so on.
std::vector<Mutation> write_mutations();
std::vector<Mutation> outcome_mutations();
std::vector<Mutation> arithmetic_mutations();
std::vector<Mutation> concurrent_mutations();

/// Makes one after the other of them; each must be caught. The exit status.
int run_mutations(const std::string& name, bool traces);

}  // namespace weir::model

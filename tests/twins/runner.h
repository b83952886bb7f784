// Runs the twins through every shape, and says how to repeat what went wrong.
#pragma once

#include <cstdint>

#include "twins/world.h"

namespace weir::twins {

/// Fails the test on the first differences, each with its seed, its shape, the last operations and as few
/// operations as show it; fails, too, if a pair of values was never met. `steps`: in all, unless
/// WEIR_TWINS_STEPS says otherwise. WEIR_TWINS_SEED is where the seeds of the worlds start, WEIR_TWINS_SHAPE
/// the only shape to run.
void run_twins(const StoreKind& kind, std::uint64_t steps);

}  // namespace weir::twins

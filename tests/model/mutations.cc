#include "mutations.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "batches.h"

namespace weir::model {

int run_mutations(const std::string& name, bool traces) {
  const auto start = std::chrono::steady_clock::now();
  int missed = 0;
  int count = 0;
  const std::vector<Batch> batches = all_batches();
  std::vector<Mutation> mutations;
  for (auto* some : {&write_mutations, &outcome_mutations, &arithmetic_mutations, &concurrent_mutations}) {
    for (Mutation& mutation : some()) mutations.push_back(std::move(mutation));
  }
  for (const Mutation& mutation : mutations) {
    if (!name.empty() && mutation.name != name) continue;
    bool found = false;
    for (Batch batch : batches) {
      if (batch.name != mutation.batch) continue;
      found = true;
      batch.world.mutation = &mutation;
      if (mutation.world != nullptr) mutation.world(batch.world);
      const Total total = run(batch, 1);
      const bool caught = !total.finding.violation.empty();
      ++count;
      missed += caught ? 0 : 1;
      std::printf("%-38s %-3s %s: %s (%zu states)\n", mutation.name.c_str(), mutation.batch.c_str(),
                  caught ? "caught" : "NOT CAUGHT", total.finding.violation.c_str(), total.states);
      std::printf("    in %s\n", total.scenario.c_str());
      if (traces) std::printf("%s\n", total.finding.trace.c_str());
      std::fflush(stdout);
    }
    if (!found) {
      ++missed;
      std::printf("%-38s %-3s NOT CAUGHT: no such batch\n", mutation.name.c_str(), mutation.batch.c_str());
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%d mutations, %d not caught, %.1f s\n", count, missed, seconds);
  return missed == 0 && count > 0 ? 0 : 1;
}

}  // namespace weir::model

// weir_model: explores every interleaving of the conditional-write machines.
//
//   weir_model quick             a sample of every batch
//   weir_model full [PART]       every batch, or those of one part
//   weir_model long [STRIDE]     every batch, or every so many combinations of it: hundreds of millions of
//   states weir_model batch NAME        one batch in full weir_model mutations [NAME]  turns off one rule at
//   a time; each must be caught weir_model traces [NAME]     the same, with the traces
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "batches.h"
#include "mutations.h"

namespace weir::model {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs the batches that are wanted; the exit status.
template <class Wanted>
int explore(std::size_t stride, Wanted&& wanted) {
  const auto start = std::chrono::steady_clock::now();
  std::size_t states = 0;
  int violations = 0;
  for (const Batch& batch : all_batches()) {
    if (!wanted(batch)) continue;
    const auto begin = std::chrono::steady_clock::now();
    const Total total = run(batch, stride);
    states += total.states;
    std::printf("%-3s %-52s %6zu runs %10zu states %6.1f s\n", batch.name.c_str(), batch.about.c_str(),
                total.runs, total.states, seconds_since(begin));
    if (!total.finding.violation.empty()) {
      ++violations;
      std::printf("    VIOLATION: %s\n    in %s\n%s\n", total.finding.violation.c_str(),
                  total.scenario.c_str(), total.finding.trace.c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%zu states, %d violations, %.1f s\n", states, violations, seconds_since(start));
  if (states == 0) std::printf("no such batch\n");
  return violations == 0 && states > 0 ? 0 : 1;
}

int main(int count, char** arguments) {
  const std::string command = count > 1 ? arguments[1] : "quick";
  const std::string name = count > 2 ? arguments[2] : "";
  if (command == "quick") {
    const std::size_t stride = name.empty() ? 320 : std::strtoul(name.c_str(), nullptr, 10);
    return explore(stride, [](const Batch&) { return true; });
  }
  if (command == "long" || command == "--long") {
    const std::size_t stride = name.empty() ? 1 : std::strtoul(name.c_str(), nullptr, 10);
    return explore(stride, [](const Batch&) { return true; });
  }
  if (command == "full") {
    return explore(1, [&](const Batch& batch) { return name.empty() || name == std::to_string(batch.part); });
  }
  if (command == "batch") {
    return explore(1, [&](const Batch& batch) { return batch.name == name; });
  }
  if (command == "mutations" || command == "traces") return run_mutations(name, command == "traces");
  std::fprintf(stderr, "weir_model: unknown command %s\n", command.c_str());
  return 2;
}

}  // namespace
}  // namespace weir::model

int main(int count, char** arguments) { return weir::model::main(count, arguments); }

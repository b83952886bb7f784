// A project with two keys: each key has a limit of its own, and both together are held to the project's. The
// time is a test's, so the program runs through minutes at once.
#include <iostream>

#include "weir/weir.h"

namespace {

/// Ends the program with the reason if something is wrong.
template <class T>
T must(weir::Result<T> result) {
  if (!result) std::cout << "error: " << result.error().message << "\n";
  return *std::move(result);
}

void show(const weir::Decision& decision) {
  std::cout << (decision.admitted() ? "admitted" : "refused") << ":";
  for (const weir::LimitStatus limit : decision.limits()) {
    std::cout << "  " << limit.entity << " " << limit.name << " " << limit.remaining.to_string();
    if (limit.exceeded && limit.retry_after) std::cout << " (wait " << limit.retry_after->count() << " ms)";
  }
  std::cout << "\n";
}

}  // namespace

int main() {
  weir::FakeClock clock;
  auto limiter = must(weir::Limiter::open("memory:", {.clock = &clock}));

  // The project and its keys, and what each may use. All of it happens, or none.
  const auto project = *weir::parse_limits({{"tpm", "1000/min"}});
  const auto key = *weir::parse_limits({{"rpm", "60/min"}, {"tpm", "800/min"}});
  auto set_up = limiter.change({weir::PutEntity{{.id = "key-a", .parent = "project", .cascade = true}},
                                weir::PutEntity{{.id = "key-b", .parent = "project", .cascade = true}},
                                weir::SetLimits{weir::Level::entity("project", "gpt-4"), project},
                                weir::SetLimits{weir::Level::resource("gpt-4"), key}});
  if (!set_up) std::cout << "error: " << set_up.error().message << "\n";

  // key-a takes most of what the project has, so key-b is refused although it has used nothing itself.
  auto first = must(limiter.acquire("key-a", "gpt-4", {{"rpm", 1}, {"tpm", 700}}));
  show(first);
  auto second = must(limiter.acquire("key-b", "gpt-4", {{"rpm", 1}, {"tpm", 400}}));
  show(second);

  // Whoever has the id of a lease can settle it: another thread, another process on the same store. It may be
  // sent twice and still happens once.
  const std::string id = must(first.lease().id());
  must(limiter.settle(id, {{"tpm", 250}}));
  must(limiter.settle(id, {{"tpm", 250}}));
  show(must(limiter.acquire("key-b", "gpt-4", {{"rpm", 1}, {"tpm", 400}})));

  // A look costs nothing.
  clock.advance(std::chrono::seconds(30));
  show(must(limiter.available("key-b", "gpt-4", {{"tpm", 800}})));
}

// A project with two keys: each key has a limit of its own, and both together are held to the project's. The
// time is a test's, so the program runs through minutes at once. Taking the value of a result that is an
// error
// (`*`) ends the program and prints the error, which is good enough here.
#include <iostream>

#include "weir/weir.h"

namespace {

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
  auto limiter = *weir::Limiter::open("memory:", {.clock = &clock});

  // The project and its keys, and what each may use. All of it happens, or none.
  const auto project = *weir::parse_limits({{"tpm", "1000/min"}});
  const auto key = *weir::parse_limits({{"rpm", "60/min"}, {"tpm", "800/min"}});
  auto set_up = limiter.change({weir::PutEntity{{.id = "key-a", .parent = "project", .cascade = true}},
                                weir::PutEntity{{.id = "key-b", .parent = "project", .cascade = true}},
                                weir::SetLimits{weir::Level::entity("project", "gpt-4"), project},
                                weir::SetLimits{weir::Level::resource("gpt-4"), key}});
  if (!set_up) std::cout << "error: " << set_up.error().message << "\n";

  // key-a takes most of what the project has, so key-b is refused although it has used nothing itself.
  auto first = *limiter.acquire("key-a", "gpt-4", {{"rpm", 1}, {"tpm", 700}});
  show(first);
  auto second = *limiter.acquire("key-b", "gpt-4", {{"rpm", 1}, {"tpm", 400}});
  show(second);

  // Every holder of the id of a lease can settle it: another thread, another process on the same store. It
  // may be sent twice and still happens once.
  const std::string id = *first.lease().id();
  for (int i = 0; i < 2; ++i) {
    if (auto settled = limiter.settle(id, {{"tpm", 250}}); !settled)
      std::cout << settled.error().message << "\n";
  }
  show(*limiter.acquire("key-b", "gpt-4", {{"rpm", 1}, {"tpm", 400}}));

  // A look costs nothing.
  clock.advance(std::chrono::seconds(30));
  show(*limiter.available("key-b", "gpt-4", {{"tpm", 800}}));
}

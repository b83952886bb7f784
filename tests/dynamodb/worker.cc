// One of several processes on a table: so many threads, each with so many acquires, then a line of what came
// of it. With a clock that the test moves, it is over when that says so.
//   weir_dynamodb_worker URL ENTITY THREADS ACQUIRES [CLOCK]
//   weir_dynamodb_worker migrate TABLE ENDPOINT
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "shared_clock.h"
#include "store/dynamodb/dynamodb_store.h"
#include "store/dynamodb/migrate.h"
#include "weir/weir.h"

namespace {

/// To be killed while it is at it: a few buckets at a time, so that there is a middle.
int migrate(const char* table, const char* endpoint) {
  using namespace weir;
  const FakeClock clock(2'000'000'000'000);
  const SystemClock system;
  base::SystemEntropy entropy;
  auto client = dynamodb::connect({.table = table, .endpoint = endpoint}, system, entropy);
  if (!client) return 1;
  auto report = dynamodb::migrate(**client, table, clock, entropy,
                                  {.dry_run = false, .most_per_second = 0, .page = 10});
  return report ? 0 : 1;
}

struct Counts {
  std::atomic<long> charged{0};
  std::atomic<long> given_back{0};
  std::atomic<long> refused{0};
  std::atomic<long> contended{0};
  std::atomic<long> failed{0};
};

/// What an adjust charges, which the test can tell from the 1 of an acquire.
constexpr int on_top = 2;

/// Some acquires are adjusted: now and then a token is given back, or some are charged on top.
void acquire_and_adjust(weir::Limiter& limiter, const char* entity, int round, Counts& told) {
  auto decision = limiter.acquire(entity, "gpt-4", {{"rpm", 1}});
  if (!decision) {
    const bool contended = decision.error().code == weir::ErrorCode::contention;
    ++(contended ? told.contended : told.failed);
    if (!contended) std::fprintf(stderr, "%s\n", decision.error().message.c_str());
    return;
  }
  if (!decision->admitted()) {
    ++told.refused;
    return;
  }
  ++told.charged;
  if (round % 5 != 0) return;
  const bool more = round % 2 == 0;
  const auto adjusted = decision->lease().adjust({{"rpm", more ? on_top : -1}});
  if (adjusted) {
    more ? told.charged += on_top : ++told.given_back;
  } else if (adjusted.error().code != weir::ErrorCode::contention) {
    ++told.failed;
    std::fprintf(stderr, "%s\n", adjusted.error().message.c_str());
  }
}

}  // namespace

int main(int count, char** words) {
  using namespace weir;
  if (count == 4 && std::string_view(words[1]) == "migrate") return migrate(words[2], words[3]);
  if (count != 5 && count != 6) return 2;
  std::unique_ptr<tests::SharedClock> clock;
  if (count == 6) clock = std::make_unique<tests::SharedClock>(words[5]);
  auto limiter = Limiter::open(words[1], {.clock = clock.get()});
  if (!limiter) {
    std::fprintf(stderr, "%s\n", limiter.error().message.c_str());
    return 1;
  }
  Counts told;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(words[3]); ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < std::atoi(words[4]) && !(clock && clock->over()) && told.failed == 0; ++j)
        acquire_and_adjust(*limiter, words[2], j, told);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld %ld %ld %ld %ld\n", told.charged.load(), told.given_back.load(), told.refused.load(),
              told.contended.load(), told.failed.load());
  return 0;
}

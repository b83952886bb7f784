// One of several processes on a table: so many threads, each with so many acquires, then a line of what came
// of it.
//   weir_dynamodb_worker URL ENTITY THREADS ACQUIRES
//   weir_dynamodb_worker migrate TABLE ENDPOINT
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

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

}  // namespace

int main(int count, char** words) {
  using namespace weir;
  if (count == 4 && std::string_view(words[1]) == "migrate") return migrate(words[2], words[3]);
  if (count != 5) return 2;
  auto limiter = Limiter::open(words[1]);
  if (!limiter) {
    std::fprintf(stderr, "%s\n", limiter.error().message.c_str());
    return 1;
  }
  std::atomic<long> admitted{0};
  std::atomic<long> refused{0};
  std::atomic<long> contended{0};
  std::atomic<long> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(words[3]); ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < std::atoi(words[4]); ++j) {
        auto decision = limiter->acquire(words[2], "gpt-4", {{"rpm", 1}});
        if (!decision) {
          ++(decision.error().code == ErrorCode::contention ? contended : failed);
          if (decision.error().code != ErrorCode::contention)
            std::fprintf(stderr, "%s\n", decision.error().message.c_str());
        } else if (decision->admitted()) {
          ++admitted;
          // Some is given back, some charged on top.
          if (j % 7 == 0 && decision->lease().adjust({{"rpm", j % 2 == 0 ? 1 : -1}}))
            admitted += j % 2 == 0 ? 1 : -1;
        } else {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld %ld %ld %ld\n", admitted.load(), refused.load(), contended.load(), failed.load());
  return 0;
}

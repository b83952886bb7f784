// One of several processes on a table: so many threads, each with so many acquires, then a line of what came
// of it.
//   weir_dynamodb_worker URL ENTITY THREADS ACQUIRES
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "weir/weir.h"

int main(int count, char** words) {
  using namespace weir;
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

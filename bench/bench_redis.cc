// What a decision on Redis costs the server and us, beside an empty script and beside rate-limiter-flexible
// (which needs `npm ci` in bench/node). Starts a redis-server of its own.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "arena.h"
#include "rounds.h"
#include "store/redis/redis_store.h"
#include "support/redis_server.h"

namespace {

using namespace weir;
using namespace weir::bench;

constexpr const char* large = "4000000000/min";

/// What a process has spent on its main thread, in nanoseconds.
double server_cpu(const tests::RedisServer& server) {
  std::ifstream file("/proc/" + std::to_string(server.pid()) + "/schedstat");
  double spent = 0;
  file >> spent;
  return spent;
}

double our_cpu() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e9 + static_cast<double>(spent.tv_nsec);
}

/// An empty script, called again and again with so many calls in flight.
class EmptyScript {
 public:
  EmptyScript(const net::RedisOptions& options, std::size_t width)
      : script_("return 1"), client_(options, entropy_), calls_(width) {
    client_.start();
    must(client_.wait_until_ready());
    for (Call& call : calls_) {
      call.owner = this;
      call.command = wire::resp::command({"EVALSHA", script_.digest, "1", "key", "argument"});
    }
    struct Load final : net::RedisCall {
      void on_reply(const wire::resp::Reply& /*reply*/) override { done.completion()(1); }
      void on_failure(const net::RedisFailure& /*failure*/) override { std::abort(); }
      store::Blocking<int> done;
    } load;
    load.command = wire::resp::command({"SCRIPT", "LOAD", script_.body});
    client_.send(load);
    must(load.done.wait());
  }
  void run(std::size_t count) {
    left_ = static_cast<long>(count);
    flying_ = calls_.size();
    for (Call& call : calls_) client_.send(call);
    std::unique_lock lock(mutex_);
    landed_.wait(lock, [this] { return flying_ == 0; });
  }

 private:
  struct Call final : net::RedisCall {
    void on_reply(const wire::resp::Reply& reply) override {
      if (reply.is_error()) std::abort();
      owner->next(*this);
    }
    void on_failure(const net::RedisFailure& /*failure*/) override { std::abort(); }
    EmptyScript* owner = nullptr;
  };
  void next(Call& call) {
    if (--left_ >= static_cast<long>(calls_.size())) return client_.send(call);
    const std::scoped_lock lock(mutex_);
    if (--flying_ == 0) landed_.notify_one();
  }

  base::SystemEntropy entropy_;
  redis::Script script_;
  net::RedisClient client_;
  std::deque<Call> calls_;
  std::atomic<long> left_{0};
  std::mutex mutex_;
  std::condition_variable landed_;
  std::size_t flying_ = 0;
};

/// Acquires that start the next one where they land, on the client's thread, as a service's would.
class Acquires {
 public:
  Acquires(limiter::Core& core, std::size_t width, std::string_view entity)
      : core_(core), slots_(width), entity_(entity) {
    for (Slot& slot : slots_) slot.owner = this;
  }
  void run(std::size_t count) {
    left_ = static_cast<long>(count);
    flying_ = slots_.size();
    for (Slot& slot : slots_) start(slot);
    std::unique_lock lock(mutex_);
    landed_.wait(lock, [this] { return flying_ == 0; });
  }

 private:
  struct Slot {
    Acquires* owner = nullptr;
    std::optional<limiter::PendingAcquire> pending;
  };
  void start(Slot& slot) {
    slot.pending.emplace(core_);
    slot.pending->start(entity_, resource, consume_, {},
                        {[](void* self, Result<void>&& result) {
                           must(result);
                           auto* const landed = static_cast<Slot*>(self);
                           if (!landed->pending->decision().admitted()) std::abort();
                           landed->owner->next(*landed);
                         },
                         &slot});
  }
  void next(Slot& slot) {
    if (--left_ >= static_cast<long>(slots_.size())) return start(slot);
    const std::scoped_lock lock(mutex_);
    if (--flying_ == 0) landed_.notify_one();
  }

  limiter::Core& core_;
  std::deque<Slot> slots_;
  const std::string entity_;
  const Charge consume_[2] = {{"rpm", 1}, {"tpm", 500}};
  std::atomic<long> left_{0};
  std::mutex mutex_;
  std::condition_variable landed_;
  std::size_t flying_ = 0;
};

struct Cost {
  double server = 0;
  double ours = 0;
  double per_second = 0;
};

template <class Run>
Cost measure(const tests::RedisServer& server, std::size_t count, Run&& run) {
  const double server_before = server_cpu(server);
  const double ours_before = our_cpu();
  const double spent = seconds([&] { run(count); });
  const auto each = static_cast<double>(count);
  return {(server_cpu(server) - server_before) / each / 1000, (our_cpu() - ours_before) / each / 1000,
          each / spent};
}

Cost median_of(std::vector<Cost> costs) {
  std::vector<double> server, ours, rate;
  for (const Cost& cost : costs) {
    server.push_back(cost.server);
    ours.push_back(cost.ours);
    rate.push_back(cost.per_second);
  }
  return {median(server), median(ours), median(rate)};
}

void print(const char* what, const Cost& cost, const Cost& empty) {
  std::printf("  %-28s server %5.2f us = %4.2f empty scripts, client %5.2f us, %8.0f/s\n", what, cost.server,
              cost.server / empty.server, cost.ours, cost.per_second);
}

/// Runs the rival; nothing if it is not installed.
std::optional<Cost> rival(const tests::RedisServer& server, std::size_t count, std::size_t width) {
  const std::string command = "node " WEIR_BENCH_FOLDER "/node/flexible.js " + std::to_string(server.port()) +
                              " " + std::to_string(count) + " " + std::to_string(width) + " 2>/dev/null";
  const double before = server_cpu(server);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  Cost cost;
  const bool read = std::fscanf(pipe, "%lf %lf", &cost.per_second, &cost.ours) == 2;
  ::pclose(pipe);
  cost.server = (server_cpu(server) - before) / static_cast<double>(count) / 1.2 / 1000;
  return read ? std::optional(cost) : std::nullopt;
}

}  // namespace

int main() {
  tests::RedisServer server;
  redis::RedisStoreOptions options;
  options.server.address.port = server.port();
  options.server.deadline = std::chrono::seconds(10);
  const auto store = must(redis::RedisStore::open(options));
  limiter::Core core({std::make_shared<SystemClock>(), std::make_shared<base::SystemEntropy>(), store}, {});
  must(core.set_limits(Level::system(), *parse_limits({{"rpm", large}, {"tpm", large}}), {}));
  must(core.put_entity({.id = "child", .parent = "parent", .cascade = true}));
  constexpr std::size_t count = 60'000;
  for (const std::size_t width : {std::size_t{16}, std::size_t{64}}) {
    EmptyScript empty(options.server, width);
    Acquires one(core, width, "single");
    Acquires two(core, width, "child");
    one.run(1000);
    two.run(1000);
    std::vector<Cost> empties, ones, twos;
    for (int round = 0; round < 7; ++round) {
      empties.push_back(measure(server, count, [&](std::size_t n) { empty.run(n); }));
      ones.push_back(measure(server, count, [&](std::size_t n) { one.run(n); }));
      twos.push_back(measure(server, count, [&](std::size_t n) { two.run(n); }));
    }
    std::printf("%zu calls in flight on one connection, medians of 7 rounds of %zu\n", width, count);
    const Cost base = median_of(empties);
    print("empty EVALSHA", base, base);
    print("two limits", median_of(ones), base);
    print("two limits, two buckets", median_of(twos), base);
    if (width != 64) continue;
    if (const auto other = rival(server, 100'000, width)) {
      print("rate-limiter-flexible", *other, base);
      const Cost ours = median_of(ones);
      std::printf("  two limits beside it: throughput %.2f times, client CPU %.2f of its\n",
                  ours.per_second / other->per_second, ours.ours / other->ours);
    } else {
      std::printf("  (no comparison: run npm ci in bench/node)\n");
    }
  }
}

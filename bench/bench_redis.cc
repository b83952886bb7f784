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

/// Whether the next call starts when one has landed, or a batch when all have: pipelining as it comes, and by
/// the book.
enum class Manner { flowing, batches };

/// Calls that start the next ones where they land, on the client's thread, as a service's would.
class Flights {
 public:
  Flights(std::size_t width, Manner manner) : width_(width), manner_(manner) {}
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  virtual ~Flights() = default;

  void run(std::size_t count) {
    left_ = count / width_ * width_ - width_;
    flying_ = width_;
    for (std::size_t i = 0; i < width_; ++i) start(i);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return flying_ == 0; });
  }

 protected:
  virtual void start(std::size_t slot) = 0;
  void landed(std::size_t slot) {
    if (manner_ == Manner::flowing && left_ > 0) {
      --left_;
      return start(slot);
    }
    const std::scoped_lock lock(mutex_);
    if (--flying_ > 0) return;
    if (left_ == 0) return done_.notify_one();
    left_ -= width_;
    flying_ = width_;
    for (std::size_t i = 0; i < width_; ++i) start(i);
  }

 private:
  const std::size_t width_;
  const Manner manner_;
  std::atomic<std::size_t> left_{0};
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t flying_ = 0;
};

/// The least that two limits in one packed string can cost: read, count, write, expire. Neither clock nor
/// parameters.
constexpr std::string_view bare_script = R"(
for k = 1, #KEYS do
  local value, a, b, c, d, e, f = redis.call('GET', KEYS[k]), 0, 0, 0, 0, 0, 0
  if value then a, b, c, d, e, f = struct.unpack('<dddddd', value) end
  value = struct.pack('<dddddd', a + 1, b + 1, c - ARGV[1], d + ARGV[1], e - ARGV[2], f + ARGV[2])
  redis.call('SET', KEYS[k], value, 'PX', 420000)
end
return 1)";

/// Calls a script again and again.
class ScriptCalls final : public Flights {
 public:
  ScriptCalls(const net::RedisOptions& options, std::size_t width, Manner manner, std::string_view body,
              std::initializer_list<std::string_view> words)
      : Flights(width, manner), script_(body), client_(options, entropy_), calls_(width) {
    client_.start();
    must(client_.wait_until_ready());
    for (std::size_t i = 0; i < width; ++i) {
      calls_[i].owner = this;
      calls_[i].index = i;
      wire::resp::append_command(calls_[i].command, words.size() + 2);
      wire::resp::append_word(calls_[i].command, std::string_view("EVALSHA"));
      wire::resp::append_word(calls_[i].command, std::string_view(script_.digest));
      for (const std::string_view word : words) wire::resp::append_word(calls_[i].command, word);
    }
    struct Load final : net::RedisCall {
      void on_reply(const wire::resp::Reply& /*reply*/) override { done.completion()(1); }
      void on_failure(const net::RedisFailure& /*failure*/) override { std::abort(); }
      store::BlockingResult<int> done;
    } load;
    load.command = wire::resp::command({"SCRIPT", "LOAD", script_.body});
    client_.send(load);
    must(load.done.wait());
  }

 private:
  struct Call final : net::RedisCall {
    void on_reply(const wire::resp::Reply& reply) override {
      if (reply.is_error()) std::abort();
      owner->landed(index);
    }
    void on_failure(const net::RedisFailure& /*failure*/) override { std::abort(); }
    ScriptCalls* owner = nullptr;
    std::size_t index = 0;
  };
  void start(std::size_t slot) override { client_.send(calls_[slot]); }

  base::SystemEntropy entropy_;
  redis::Script script_;
  net::RedisClient client_;
  std::deque<Call> calls_;
};

/// Acquires of two limits, by one entity after the other.
class Acquires final : public Flights {
 public:
  Acquires(limiter::Core& core, std::size_t width, Manner manner, std::vector<std::string> entities,
           bool usage = true)
      : Flights(width, manner), core_(core), slots_(width), entities_(std::move(entities)) {
    options_.usage = usage;
    for (std::size_t i = 0; i < width; ++i) {
      slots_[i].owner = this;
      slots_[i].index = i;
    }
  }

 private:
  struct Slot {
    Acquires* owner = nullptr;
    std::size_t index = 0;
    std::optional<limiter::PendingAcquire> pending;
  };
  void start(std::size_t index) override {
    Slot& slot = slots_[index];
    slot.pending.emplace(core_);
    const std::string& entity = entities_[next_.fetch_add(1, std::memory_order_relaxed) % entities_.size()];
    slot.pending->start(entity, resource, consume_, options_,
                        {[](void* self, Result<void>&& result) {
                           must(result);
                           auto* const one = static_cast<Slot*>(self);
                           if (!one->pending->decision().admitted()) std::abort();
                           one->owner->landed(one->index);
                         },
                         &slot});
  }

  limiter::Core& core_;
  std::deque<Slot> slots_;
  const std::vector<std::string> entities_;
  std::atomic<std::size_t> next_{0};
  const Charge consume_[2] = {{"rpm", 1}, {"tpm", 500}};
  AcquireOptions options_;
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
  must(core.put_entity({.id = "child-off", .parent = "parent-off", .cascade = true}));
  constexpr std::size_t count = 60'000;
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) many.push_back("key-" + std::to_string(i));
  struct Setting {
    std::size_t width;
    Manner manner;
    const char* what;
  };
  for (const Setting& setting : {Setting{16, Manner::batches, "by 16: a batch of 16 after the other"},
                                 Setting{16, Manner::flowing, "as it comes, 16 calls in flight"},
                                 Setting{64, Manner::flowing, "as it comes, 64 calls in flight"}}) {
    ScriptCalls empty(options.server, setting.width, setting.manner, "return 1", {"1", "key", "argument"});
    ScriptCalls bare(options.server, setting.width, setting.manner, bare_script,
                     {"1", "bare:{single}:gpt-4", "1000", "500000"});
    ScriptCalls bare_two(options.server, setting.width, setting.manner, bare_script,
                         {"2", "bare:{child}:gpt-4", "bare:{parent}:gpt-4", "1000", "500000"});
    Acquires one(core, setting.width, setting.manner, {"single"});
    Acquires thousand(core, setting.width, setting.manner, many);
    Acquires two(core, setting.width, setting.manner, {"child"});
    // The same without counting usage.
    Acquires one_off(core, setting.width, setting.manner, {"single-off"}, false);
    Acquires two_off(core, setting.width, setting.manner, {"child-off"}, false);
    for (Flights* warm : std::initializer_list<Flights*>{&one, &thousand, &two, &one_off, &two_off})
      warm->run(2000);
    std::vector<Cost> empties, bares, bare_twos, ones, thousands, twos, ones_off, twos_off;
    for (int round = 0; round < 7; ++round) {
      empties.push_back(measure(server, count, [&](std::size_t n) { empty.run(n); }));
      bares.push_back(measure(server, count, [&](std::size_t n) { bare.run(n); }));
      bare_twos.push_back(measure(server, count, [&](std::size_t n) { bare_two.run(n); }));
      ones.push_back(measure(server, count, [&](std::size_t n) { one.run(n); }));
      thousands.push_back(measure(server, count, [&](std::size_t n) { thousand.run(n); }));
      twos.push_back(measure(server, count, [&](std::size_t n) { two.run(n); }));
      ones_off.push_back(measure(server, count, [&](std::size_t n) { one_off.run(n); }));
      twos_off.push_back(measure(server, count, [&](std::size_t n) { two_off.run(n); }));
    }
    std::printf("pipelined %s, on one connection; medians of 7 rounds of %zu\n", setting.what, count);
    const Cost base = median_of(empties);
    print("empty EVALSHA", base, base);
    print("bare script, one key", median_of(bares), base);
    print("bare script, two keys", median_of(bare_twos), base);
    print("two limits, one bucket", median_of(ones), base);
    print("two limits, 1000 buckets", median_of(thousands), base);
    print("two limits, chain of two", median_of(twos), base);
    print("one bucket, usage off", median_of(ones_off), base);
    print("chain of two, usage off", median_of(twos_off), base);
    std::printf("  usage on beside off: server CPU %.3f for one bucket, %.3f for a chain of two\n",
                median_of(ones).server / median_of(ones_off).server,
                median_of(twos).server / median_of(twos_off).server);
    if (setting.width != 64) continue;
    if (const auto other = rival(server, 100'000, setting.width)) {
      print("rate-limiter-flexible", *other, base);
      const Cost ours = median_of(ones);
      std::printf("  two limits beside it: throughput %.2f times, client CPU %.2f of its\n",
                  ours.per_second / other->per_second, ours.ours / other->ours);
    } else {
      std::printf("  (no comparison: run npm ci in bench/node)\n");
    }
  }
}

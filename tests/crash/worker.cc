#include "crash/worker.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "crash/disk.h"

namespace weir::crash {

std::string catalog_resource(std::uint64_t index) { return "catalog-" + std::to_string(index); }
std::string catalog_entity(std::uint64_t index) { return "person-" + std::to_string(index); }
std::string catalog_limit(std::uint64_t step) { return std::to_string(step + 1) + "/day"; }
Entity catalog_content(std::uint64_t index, std::uint64_t step) {
  const std::string text = std::to_string(step);
  return {.id = catalog_entity(index), .name = "name " + text, .metadata = {{"step", text}}};
}

std::vector<NamedLimit> shared_limits(std::uint64_t step) {
  const auto limit = [&](std::int64_t capacity, std::uint64_t more) {
    return *Limit::make({.capacity = capacity,
                         .burst = capacity + static_cast<std::int64_t>(more),
                         .refill_amount = capacity,
                         .refill_period = std::chrono::hours(step % 2 == 0 ? 24 : 1)});
  };
  std::vector<NamedLimit> limits{{limit_names[0], limit(of_the_rest.rpm, step)},
                                 {limit_names[1], limit(of_the_rest.tpm, step % 7)},
                                 {limit_names[2], limit(of_the_rest.credits, step % 5)}};
  // Comes and goes.
  if (step % 3 == 0) limits.push_back({"more", limit(10, 0)});
  return limits;
}

namespace {

class Worker {
 public:
  Worker(const Task& task, Limiter limiter)
      : names_{task.population},
        pipe_(task.pipe),
        next_step_(task.first_step),
        limiter_(std::move(limiter)) {}

  /// The entities, with their limits. Repeating it changes nothing that counts.
  void set_up();
  void call(int caller, std::uint64_t seed);
  void operate(std::uint64_t seed);

 private:
  template <class... Parts>
  void say(const Parts&... parts) {
    std::string line;
    const auto add = [&](const auto& part) {
      if (!line.empty()) line += ' ';
      if constexpr (std::is_integral_v<std::decay_t<decltype(part)>>) {
        line += std::to_string(part);
      } else {
        line += part;
      }
    };
    (add(parts), ...);
    line += '\n';
    // In one piece: short enough for the system not to split it.
    if (::write(pipe_, line.data(), line.size()) < 0) std::_Exit(1);
  }
  template <class T>
  bool told(std::uint64_t step, const Result<T>& result, const char* word = "d") {
    result.ok() ? say(word, step) : say("!", step, result.error().message);
    return result.ok();
  }
  void set_up(const std::string& entity, const std::string& parent, const Capacity& capacity);
  /// With the limits that change; those of an earlier worker stay.
  void set_up_shared();
  Result<Decision> acquire(const std::string& entity, std::int64_t tpm, std::int64_t credits,
                           const std::string& key);
  /// An acquire that was admitted, sent again.
  void repeat(std::uint64_t step, const std::string& id, Result<Decision> again);
  void finish(std::uint64_t acquired, Lease& lease, const std::string& id, std::int64_t tpm,
              std::mt19937_64& random);

  const Names names_;
  const int pipe_;
  std::atomic<std::uint64_t> next_step_;
  Limiter limiter_;
};

void Worker::set_up(const std::string& entity, const std::string& parent, const Capacity& capacity) {
  const auto per_day = [](std::int64_t amount) { return std::to_string(amount) + "/day"; };
  const std::string rpm = per_day(capacity.rpm);
  const std::string tpm = per_day(capacity.tpm);
  const std::string credits = per_day(capacity.credits);
  told(0, limiter_.put_entity({.id = entity, .parent = parent, .cascade = !parent.empty()}), "s");
  told(0,
       limiter_.set_limits(Level::entity_default(entity),
                           {{limit_names[0], rpm}, {limit_names[1], tpm}, {limit_names[2], credits}}),
       "s");
}

void Worker::set_up_shared() {
  const std::string key = names_.shared_key();
  const Level level = Level::entity_default(key);
  told(0, limiter_.put_entity({.id = key, .parent = names_.large_team(), .cascade = true}), "s");
  limiter_.limits(level) ? say("s", 0) : void(told(0, limiter_.set_limits(level, shared_limits(0)), "s"));
}

void Worker::set_up() {
  set_up(names_.organisation(), "", of_the_rest);
  set_up(names_.small_team(), names_.organisation(), of_small_team);
  set_up(names_.large_team(), names_.organisation(), of_the_rest);
  set_up_shared();
  for (int i = 0; i < callers; ++i) set_up(names_.own_key(i), names_.small_team(), of_own_key);
  // Not less than what the shared key has: a bucket that missed more changes than are remembered is held to
  // the lower levels, too.
  const std::string rpm = std::to_string(of_the_rest.rpm) + "/day";
  told(0, limiter_.set_limits(Level::system(), {{"rpm", rpm}}), "s");
}

void Worker::call(int caller, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    const std::string entity = random() % 3 == 0 ? names_.own_key(caller) : names_.shared_key();
    const auto tpm = static_cast<std::int64_t>(random() % 500 + 1);
    const auto credits = static_cast<std::int64_t>(random() % 5 + 1);
    const std::uint64_t step = next_step_++;
    const std::string key = random() % 2 == 0 ? "once-" + std::to_string(step) : "-";
    say("A", step, entity, tpm, credits, key);
    auto decision = acquire(entity, tpm, credits, key);
    if (!decision) {
      told(step, decision);
      continue;
    }
    if (!decision->admitted()) {
      say("n", step);
      continue;
    }
    std::string id;
    if (key != "-" || random() % 3 != 0) id = *decision->lease().id();
    say("a", step, id.empty() ? "-" : id);
    if (key != "-" && random() % 2 == 0) repeat(step, id, acquire(entity, tpm, credits, key));
    finish(step, decision->lease(), id, tpm, random);
  }
}

Result<Decision> Worker::acquire(const std::string& entity, std::int64_t tpm, std::int64_t credits,
                                 const std::string& key) {
  AcquireOptions options;
  if (key != "-") options.idempotency_key = key;
  return limiter_.acquire(entity, resource, {{"rpm", 1}, {"tpm", tpm}, {"credits", credits}}, options);
}

void Worker::repeat(std::uint64_t step, const std::string& id, Result<Decision> again) {
  if (!again) return say("!", step, again.error().message);
  if (!again->admitted()) return say("!", step, "sent again it is refused");
  if (*again->lease().id() != id) say("!", step, "sent again it has another lease");
}

/// A few changes of one lease, by its id if it has one.
void Worker::finish(std::uint64_t acquired, Lease& lease, const std::string& id, std::int64_t tpm,
                    std::mt19937_64& random) {
  const char* const kind = id.empty() ? "D" : "C";
  while (random() % 3 == 0) {
    const std::uint64_t step = next_step_++;
    const auto more = static_cast<std::int64_t>(random() % 9 + 1);
    const std::string key = id.empty() ? "-" : "key-" + std::to_string(step);
    say(kind, step, acquired, "adjust", 0, more, key);
    const auto adjusted =
        id.empty() ? lease.adjust({{"credits", more}}) : limiter_.adjust(id, {{"credits", more}}, key);
    if (!told(step, adjusted)) return;
  }
  const auto fate = random() % 4;
  if (fate == 0) return;
  const std::uint64_t step = next_step_++;
  if (fate == 1) {
    say(kind, step, acquired, "rollback", 0, 0, "-");
    told(step, id.empty() ? lease.rollback() : limiter_.rollback(id));
    return;
  }
  const auto used = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(tpm + 1));
  const auto credits = static_cast<std::int64_t>(random() % 20);
  say(kind, step, acquired, "settle", used, credits, "-");
  const Charge actual[] = {{"tpm", used}, {"credits", credits}};
  told(step, id.empty() ? lease.settle(actual) : limiter_.settle(id, actual));
}

/// Changes the catalog, and meanwhile makes the buckets resolve anew.
void Worker::operate(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    const std::uint64_t index = random() % catalog_size;
    const std::uint64_t step = next_step_++;
    const std::string entity = catalog_entity(index);
    const Level level = Level::resource(catalog_resource(index));
    switch (random() % 8) {
      case 6:
      case 7:
        say("M", step, shared_place);
        told(step, limiter_.set_limits(Level::entity_default(names_.shared_key()), shared_limits(step)));
        break;
      case 0:
        say("K", step, index);
        // It may not be there; that is an answer too.
        static_cast<void>(limiter_.delete_limits(level));
        say("d", step);
        break;
      case 1:
        say("X", step, index);
        // With a bucket, which has to go with it.
        static_cast<void>(limiter_.acquire(entity, "elsewhere", {{"rpm", 1}}));
        say(limiter_.delete_entity(entity) ? "g" : "d", step);
        break;
      case 2:
      case 3:
        say("L", step, index);
        told(step, limiter_.set_limits(level, {{"rpm", catalog_limit(step)}}));
        break;
      default:
        say("E", step, index);
        told(step, limiter_.put_entity(catalog_content(index, step)));
    }
  }
}

}  // namespace

int work(const Task& task) {
  Disk::install();
  std::mt19937_64 random(task.seed);
  if (task.power_lost_at != 0) Disk::lose_power(task.power_lost_at, random());
  static FakeClock clock(standing_time);
  auto limiter =
      Limiter::open("sqlite:" + task.path, {.clock = &clock, .lease_deadline = std::chrono::hours(24)});
  if (!limiter) {
    const std::string line = "! 0 " + limiter.error().message + "\n";
    static_cast<void>(!::write(task.pipe, line.data(), line.size()));
    return 1;
  }
  Worker worker(task, *std::move(limiter));
  worker.set_up();
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i) threads.emplace_back([&, i, seed = random()] { worker.call(i, seed); });
  threads.emplace_back([&, seed = random()] { worker.operate(seed); });
  return 0;
}

}  // namespace weir::crash

// What the benchmarks of the SQLite store share: a store, and callers that do not block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "limiter/pending.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir::bench {

constexpr const char* resource = "gpt-4";

/// How often this process has made the disk write, by the kind of file.
struct Syncs {
  std::uint64_t log = 0;
  std::uint64_t file = 0;  ///< one for each checkpoint
};
Syncs syncs();

template <class T>
T must(Result<T> result) {
  return std::move(result).value();
}
inline void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::abort();
}

/// A store on a file, and a limiter on it.
struct Arena {
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<sqlite::SqliteStore> store;
  limiter::Core core;

  Arena(const std::string& path, const std::shared_ptr<const Clock>& with_clock, bool checkpoints = true)
      : clock(with_clock),
        store(open(path, with_clock, checkpoints)),
        core({with_clock, std::make_shared<base::SystemEntropy>(), store}, {}) {}
  void set_system(const std::vector<LimitText>& limits) {
    must(core.set_limits(Level::system(), *parse_limits(limits), {}));
  }

 private:
  static std::shared_ptr<sqlite::SqliteStore> open(const std::string& path,
                                                   const std::shared_ptr<const Clock>& clock,
                                                   bool checkpoints) {
    base::SystemEntropy entropy;
    return must(sqlite::SqliteStore::open(path, {.clock = clock, .checkpoints = checkpoints}, entropy));
  }
};

/// Keeps a number of acquires in flight from one thread, as a service does.
class Flight {
 public:
  Flight(limiter::Core& core, std::size_t width) : core_(core), slots_(width) {
    for (Slot& slot : slots_) {
      slot.flight = this;
      landed_.push_back(&slot);
    }
  }
  /// Starts `count` acquires of `entity(i)` and waits for all. Each must be admitted.
  template <class Entity>
  void run(std::size_t count, Entity&& entity) {
    std::size_t started = 0;
    std::vector<Slot*> free;
    while (started < count) {
      take(free, 1);
      while (!free.empty() && started < count) {
        Slot& slot = *free.back();
        free.pop_back();
        slot.entity = entity(started);
        slot.consume[1].amount = Amount(static_cast<std::int64_t>(100 + started++ % 400));
        slot.pending.emplace(core_);
        slot.pending->start(slot.entity, resource, slot.consume, {}, {&Flight::landed, &slot});
      }
    }
    take(free, slots_.size() - free.size());
    landed_.swap(free);
  }

 private:
  struct Slot {
    Flight* flight = nullptr;
    std::string_view entity;
    Charge consume[2] = {{"rpm", 1}, {"tpm", 500}};
    std::optional<limiter::PendingAcquire> pending;
  };
  static void landed(void* context, Result<void>&& result) {
    auto* const slot = static_cast<Slot*>(context);
    must(result);
    if (!slot->pending->decision().admitted()) std::abort();
    Flight& flight = *slot->flight;
    const std::scoped_lock lock(flight.mutex_);
    flight.landed_.push_back(slot);
    if (flight.landed_.size() >= flight.wanted_) flight.some_.notify_one();
  }
  /// Appends at least `count` free slots.
  void take(std::vector<Slot*>& free, std::size_t count) {
    std::unique_lock lock(mutex_);
    wanted_ = count;
    some_.wait(lock, [&] { return landed_.size() >= count; });
    wanted_ = SIZE_MAX;
    free.insert(free.end(), landed_.begin(), landed_.end());
    landed_.clear();
  }

  limiter::Core& core_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable some_;
  std::size_t wanted_ = SIZE_MAX;
  std::vector<Slot*> landed_;
};

}  // namespace weir::bench

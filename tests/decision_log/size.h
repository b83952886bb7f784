// A log in a file that gets many rows from a limiter's decisions, watched all along: the space of its files,
// the memory of the process, and which rows were dropped.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "decision_log/decision_log.h"
#include "support/folder.h"
#include "weir/weir.h"

namespace weir::decision_log {

/// Bytes in each file of the log.
struct Space {
  static constexpr std::array<const char*, 4> suffixes = {"", "-wal", "-shm", "-lock"};
  std::array<std::uintmax_t, suffixes.size()> files{};

  static Space of(const std::string& path) {
    Space space;
    for (std::size_t i = 0; i < suffixes.size(); ++i) {
      std::error_code missing;
      const std::uintmax_t size = std::filesystem::file_size(path + suffixes[i], missing);
      space.files[i] = missing ? 0 : size;
    }
    return space;
  }
  std::uintmax_t total() const {
    std::uintmax_t sum = 0;
    for (const std::uintmax_t size : files) sum += size;
    return sum;
  }
};

inline std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Decisions of 500 entities below 20 projects on three resources, some admitted and some refused. Rows are
/// made from them again and again, since a log does not care how old a report is.
class DecisionPool {
 public:
  struct One {
    std::string entity;
    std::string resource;
    std::vector<Charge> charges;
    Decision decision;
  };

  explicit DecisionPool(FakeClock& clock) : limiter_(*Limiter::open("memory:", {.clock = &clock})) {
    bool set = bool(limiter_.set_limits(Level::system(), {{"rpm", "60/min"}, {"tpm", "40000/min:60000"}}));
    for (std::size_t i = 0; i < projects; ++i) {
      const std::string project = "project-" + std::to_string(i);
      set = set && limiter_.set_limits(Level::entity_default(project), {{"tpm", "400000/min"}});
    }
    for (std::size_t i = 0; i < entities; ++i) {
      const std::string parent = "project-" + std::to_string(i % projects);
      set = set && limiter_.put_entity({.id = name(i), .parent = parent, .cascade = true});
    }
    if (!set) std::abort();
    for (std::size_t i = 0; i < size; ++i) add(i);
  }
  const One& operator[](std::uint64_t number) const { return pool_[number % pool_.size()]; }

 private:
  static constexpr std::size_t projects = 20;
  static constexpr std::size_t entities = 500;
  static constexpr std::size_t size = 3001;
  static std::string name(std::size_t i) { return "api-key-" + std::to_string(1000 + i); }

  void add(std::size_t i) {
    static constexpr std::array<const char*, 3> resources = {"gpt-4o", "gpt-4o-mini", "claude-sonnet-4"};
    One one{.entity = name(i * 7 % entities), .resource = resources[i % 3], .charges = {}, .decision = {}};
    one.charges = {{"rpm", 1}, {"tpm", static_cast<std::int64_t>(500 + i * 37 % 30'000)}};
    auto decision = limiter_.acquire(one.entity, one.resource, one.charges);
    if (!decision) std::abort();
    one.decision = *std::move(decision);
    pool_.push_back(std::move(one));
  }

  Limiter limiter_;
  std::vector<One> pool_;
};

struct SizePlan {
  std::uint64_t rows = 0;  ///< that are to be written
  std::uint64_t most_bytes = 0;
  std::size_t most_waiting = 8 * maxima::mib;
  std::size_t write_at = 256 * maxima::kib;
};

/// One run. The producer waits for the thread of the log where many rows are ahead of it, except in bursts:
/// one in ten parts of a hundredth of all rows.
class SizeRun {
 public:
  explicit SizeRun(const SizePlan& plan) : plan_(plan), path_(folder_.file("log.db")) {
    auto opened = DecisionLog::open({.keeps = Keeps::all,
                                     .path = path_,
                                     .most_bytes = plan.most_bytes,
                                     .most_waiting = plan.most_waiting,
                                     .write_at = plan.write_at},
                                    clock_, entropy_);
    if (!opened) std::abort();
    log_ = *std::move(opened);
    watch();
  }

  /// Adds until `rows` rows were written. Calls `check()` a hundred times.
  template <class Check>
  void add_rows(Check&& check) {
    const std::uint64_t part = std::max<std::uint64_t>(1, plan_.rows / 100);
    for (std::uint64_t added = 0; log_->written() < plan_.rows; ++added) {
      const bool burst = added / part % 10 == 0;
      add();
      if (added % 1000 == 0) watch();
      for (; !burst && ahead() > most_ahead_; watch()) std::this_thread::yield();
      if (added % part == 0) check();
    }
    log_->flush();
    watch();
  }

  Record record_of(std::uint64_t number, const std::string& request_id) const {
    const DecisionPool::One& one = pool_[number];
    const auto wait = one.decision.retry_after();
    const bool admitted = one.decision.admitted();
    return {.at = clock_.now(),
            .outcome = admitted ? EntryOutcome::admitted : EntryOutcome::refused,
            .name_space = "default",
            .entity = one.entity,
            .resource = one.resource,
            .request_id = request_id,
            .charges = one.charges,
            .report = &one.decision.limits(),
            .wait = wait ? std::optional<Time>(wait->count()) : std::nullopt,
            .never_fits = one.decision.never_fits(),
            .lease_for = 60'000,
            .lease = admitted ? number * 0x9e3779b97f4a7c15U | 1U : 0};
  }
  static std::string request_id_of(std::uint64_t number) {
    std::string digits = std::to_string(number);
    return "3f2504e0-4f89-41d3-9a0c-" + digits.insert(0, 12 - std::min<std::size_t>(12, digits.size()), '0');
  }

  DecisionLog& log() { return *log_; }
  const std::string& path() const { return path_; }
  const DecisionPool& pool() const { return pool_; }
  /// The newest row that was not dropped.
  std::uint64_t newest() const { return newest_; }
  std::uint64_t added() const { return was_dropped_.size() - 1; }
  /// Whether the row with this number was dropped, as seen by its producer.
  bool was_dropped(std::uint64_t number) const { return was_dropped_[number]; }
  const Space& largest() const { return largest_; }
  /// The most resident memory in each tenth of the run.
  const std::array<std::uint64_t, 10>& memory() const { return memory_; }

 private:
  void add() {
    const std::uint64_t number = log_->next_number();
    const std::uint64_t before = log_->dropped();
    log_->add(number, record_of(number, request_id_of(number)));
    was_dropped_.push_back(log_->dropped() != before);
    if (!was_dropped_.back()) newest_ = number;
    if (number % 2 == 0) clock_.advance(std::chrono::milliseconds(1));
  }
  std::uint64_t ahead() const { return added() - log_->written() - log_->dropped(); }
  void watch() {
    const Space now = Space::of(path_);
    if (now.total() > largest_.total()) largest_ = now;
    const std::uint64_t tenth = std::min<std::uint64_t>(9, log_->written() * 10 / plan_.rows);
    memory_[tenth] = std::max(memory_[tenth], resident_bytes());
  }

  const SizePlan plan_;
  const std::uint64_t most_ahead_ = plan_.most_waiting / 600;  ///< rows, about half of the queue
  tests::Folder folder_;
  const std::string path_;
  FakeClock clock_;
  base::SystemEntropy entropy_;
  DecisionPool pool_{clock_};
  std::unique_ptr<DecisionLog> log_;
  std::vector<bool> was_dropped_ = {true};  ///< by number; there is no row 0
  std::uint64_t newest_ = 0;
  Space largest_;  ///< at the moment at which all files together were largest
  std::array<std::uint64_t, 10> memory_{};
};

}  // namespace weir::decision_log

// Rows in blocks, oldest first, in a bounded space: the oldest blocks make room for new ones.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/lock.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::decision_log {

/// Rows that were written together, and the ranges of their numbers and times.
struct Block {
  std::int64_t position = 0;  ///< ascending
  std::uint64_t lowest = 0;
  std::uint64_t highest = 0;
  Time earliest = 0;
  Time latest = 0;
  std::string rows = {};
};

/// Selects the blocks that may have rows of interest.
struct BlockRange {
  std::int64_t from_position = 0;
  std::int64_t to_position = INT64_MAX;  ///< included
  std::uint64_t from_number = 0;
  std::uint64_t to_number = INT64_MAX;  ///< included
  Time from = 0;
  Time to = INT64_MAX;  ///< included
};

enum class Order : std::uint8_t { oldest_first, newest_first };

/// Safe to use from any thread; a scan sees the blocks as they are when it begins.
class Blocks {
 public:
  virtual ~Blocks() = default;
  /// Writes blocks, also in place of the one with the same position, and drops the oldest beyond the bound
  /// and all whose rows are older than `oldest`. On failure nothing was written.
  virtual Result<void> write(std::span<const Block> blocks, Time oldest) = 0;
  /// Calls `visit` until it returns false.
  virtual Result<void> scan(const BlockRange& range, Order order,
                            const std::function<bool(const Block&)>& visit) const = 0;
  /// How many bytes are in use.
  virtual std::uint64_t bytes() const = 0;
};

/// Blocks in memory, for a process that has no file.
class MemoryBlocks final : public Blocks {
 public:
  explicit MemoryBlocks(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}
  Result<void> write(std::span<const Block> blocks, Time oldest) override;
  Result<void> scan(const BlockRange& range, Order order,
                    const std::function<bool(const Block&)>& visit) const override;
  std::uint64_t bytes() const override;

 private:
  const std::uint64_t most_bytes_;
  mutable base::Mutex mutex_;
  std::deque<std::shared_ptr<const Block>> blocks_ WEIR_GUARDED_BY(mutex_);
  std::uint64_t bytes_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir::decision_log

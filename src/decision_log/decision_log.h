// The decision log of a process: a bounded ring of decisions in a file beside it, or in memory.
//
// A decision is encoded on the thread that made it and put into a queue. A thread of the log writes what
// waits. No decision waits for a disk: where the queue is full, a row is dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/entropy.h"
#include "base/lock.h"
#include "base/maxima.h"
#include "decision_log/blocks.h"
#include "decision_log/entry.h"
#include "decision_log/reader.h"
#include "weir/clock.h"
#include "weir/result.h"

namespace weir::decision_log {

class FileBlocks;
class LineFile;

inline constexpr std::uint64_t least_bytes = maxima::mib;
inline constexpr std::uint64_t usual_bytes = 256 * maxima::mib;
inline constexpr std::uint64_t usual_bytes_in_memory = 16 * maxima::mib;
inline constexpr std::chrono::hours usual_keep_for{24 * 30};

struct DecisionLogOptions {
  Keeps keeps = Keeps::refusals;
  std::string path = {};         ///< of the file; empty: in memory
  std::uint64_t most_bytes = 0;  ///< 0: the usual; at least least_bytes
  std::chrono::milliseconds keep_for = usual_keep_for;
  std::string lines = {};  ///< a file that gets each entry as a line of JSON, or - for stdout; empty: none
  std::size_t most_waiting = 8 * maxima::mib;  ///< bytes; further rows are dropped
  std::size_t write_at = 256 * maxima::kib;    ///< waiting bytes that cause an earlier write
  std::chrono::milliseconds write_every{500};
  /// How long a write of lines waits for the reader of a pipe. The rest is tried again with the next write;
  /// where more than `most_waiting` bytes of rows wait for it, lines are lost and counted.
  std::chrono::milliseconds line_patience{100};
  bool has_thread = true;  ///< false: rows are written only by flush() and by reading, for tests
};

/// Safe to use from any thread.
class DecisionLog {
 public:
  /// The clock must outlive it. `keeps` is not off.
  static Result<std::unique_ptr<DecisionLog>> open(const DecisionLogOptions& options, const Clock& clock,
                                                   base::Entropy& entropy);
  /// Writes the rows that wait.
  ~DecisionLog();
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  bool keeps_all() const { return options_.keeps == Keeps::all; }
  Keeps keeps() const { return options_.keeps; }
  /// Of this log, and the beginning of each id.
  const std::string& id() const { return id_; }
  /// Of its file; empty: it is in memory.
  const std::string& path() const { return options_.path; }
  /// Stores in the file how this process can be reached.
  void set_place(const std::string& place);

  /// The number of a new decision.
  std::uint64_t next_number() { return next_number_.fetch_add(1, std::memory_order_relaxed); }
  /// The id that explains it.
  std::string id_of(std::uint64_t number) const { return id_text(id_, number); }
  void add(std::uint64_t number, const Record& record);

  /// Reads what was added before the call.
  Result<Entry> find(std::string_view id, std::string_view name_space,
                     Audience audience = Audience::whole_log);
  Result<Page<Entry>> list(const Filter& filter, const Paging& paging);
  /// Writes the rows that wait, and their lines.
  void flush();
  /// Continues the lines of JSON in a new file of the same name. On failure the old one stays in use.
  Result<void> reopen_lines();

  std::uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  /// Rows that were lost, since the queue was full or a write failed.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// Lines of JSON that could not be written.
  std::uint64_t lines_lost() const { return lines_lost_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const { return blocks_->bytes(); }
  std::uint64_t most_bytes() const { return options_.most_bytes; }
  /// Why the last write failed; empty: it did not.
  std::string trouble() const;

 private:
  DecisionLog(const DecisionLogOptions& options, const Clock& clock);
  void run();
  void add_to_blocks(std::string_view rows, std::vector<Block>& blocks) WEIR_REQUIRES(write_mutex_);
  /// The rows without their lines, which nobody who reads the log waits for.
  void write_rows() WEIR_EXCLUDES(write_mutex_);
  void queue_lines(std::string_view rows, std::size_t count);
  void write_lines() WEIR_EXCLUDES(line_mutex_);

  const DecisionLogOptions options_;
  const Clock& clock_;
  std::string id_;
  std::unique_ptr<Blocks> blocks_;
  FileBlocks* file_ = nullptr;  ///< the same, if it is a file
  std::unique_ptr<LineFile> lines_;
  std::atomic<std::uint64_t> next_number_{1};
  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> lines_lost_{0};

  mutable base::Mutex mutex_;
  base::Condition wake_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  bool waked_ WEIR_GUARDED_BY(mutex_) = false;
  std::string waiting_ WEIR_GUARDED_BY(mutex_);
  std::size_t waiting_rows_ WEIR_GUARDED_BY(mutex_) = 0;
  std::string trouble_ WEIR_GUARDED_BY(mutex_);
  base::Mutex write_mutex_;                        ///< held while writing; taken before the other mutex
  std::string line_rows_ WEIR_GUARDED_BY(mutex_);  ///< whose lines are not written yet
  base::Mutex line_mutex_;  ///< held while lines are written; taken before `mutex_`, and by no reader
  std::string line_rest_ WEIR_GUARDED_BY(line_mutex_);  ///< that a slow reader has not taken
  std::int64_t next_position_ WEIR_GUARDED_BY(write_mutex_) = 1;
  Block open_ WEIR_GUARDED_BY(write_mutex_);  ///< the last block while it is small: the next rows join it
  std::thread thread_;
};

}  // namespace weir::decision_log

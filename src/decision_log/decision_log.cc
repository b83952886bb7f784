#include "decision_log/decision_log.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/text.h"
#include "decision_log/entry_json.h"
#include "decision_log/file_blocks.h"
#include "decision_log/line_file.h"
#include "decision_log/row.h"

namespace weir::decision_log {
namespace {

/// A block that has reached this size gets no more rows. Larger ones cost less to write, smaller ones less to
/// search.
constexpr std::size_t full_block = 32 * maxima::kib;

}  // namespace

Result<std::unique_ptr<DecisionLog>> DecisionLog::open(const DecisionLogOptions& options, const Clock& clock,
                                                       base::Entropy& entropy) {
  DecisionLogOptions chosen = options;
  if (chosen.most_bytes == 0) chosen.most_bytes = options.path.empty() ? usual_bytes_in_memory : usual_bytes;
  std::unique_ptr<DecisionLog> log(new DecisionLog(chosen, clock));
  if (chosen.path.empty()) {
    log->id_ = base::hex(entropy.next()).substr(0, 8);
    log->blocks_ = std::make_unique<MemoryBlocks>(chosen.most_bytes);
  } else {
    auto file = FileBlocks::open(chosen.path, chosen.most_bytes, entropy);
    if (!file) return file.error();
    log->file_ = file->get();
    log->id_ = (*file)->id();
    // Numbers that were given out and not written before a crash are not used again.
    constexpr std::uint64_t gap = 100'000;
    const std::uint64_t last = (*file)->last_number();
    log->next_number_ = last == 0 ? 1 : last + gap;
    const base::Guard guard(log->write_mutex_);
    log->next_position_ = (*file)->last_position() + 1;
    log->blocks_ = *std::move(file);
  }
  if (!chosen.lines.empty()) {
    auto lines = LineFile::open(chosen.lines);
    if (!lines) return lines.error();
    log->lines_ = *std::move(lines);
  }
  if (chosen.has_thread) log->thread_ = std::thread([log = log.get()] { log->run(); });
  return log;
}

DecisionLog::DecisionLog(const DecisionLogOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

DecisionLog::~DecisionLog() {
  if (thread_.joinable()) {
    {
      const base::Guard guard(mutex_);
      stopping_ = true;
      wake_.notify_one();
    }
    thread_.join();
  }
  if (blocks_) flush();
}

void DecisionLog::set_place(const std::string& place) {
  // For messages only: a failure to write is seen, and told, with the next rows.
  if (file_ != nullptr) (void)file_->set_place(place);
}

void DecisionLog::add(std::uint64_t number, const Record& record) {
  // Encoded before the lock is taken, in reused memory.
  thread_local std::string row;
  row.clear();
  append_row(row, number, record);
  const base::Guard guard(mutex_);
  if (waiting_.size() + row.size() > options_.most_waiting) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  waiting_ += row;
  ++waiting_rows_;
  if (waiting_.size() < options_.write_at || waked_) return;
  waked_ = true;
  wake_.notify_one();
}

void DecisionLog::run() {
  for (bool more = true; more;) {
    const auto end = std::chrono::steady_clock::now() + options_.write_every;
    {
      const base::Guard guard(mutex_);
      while (!stopping_ && !waked_ && wake_.wait_until(mutex_, end)) {
      }
      more = !stopping_;
    }
    flush();
  }
}

/// Appends the rows to the open block and to new ones.
void DecisionLog::add_to_blocks(std::string_view rows, std::vector<Block>& blocks) {
  Block block = std::exchange(open_, {});
  const auto close = [&] {
    if (block.rows.empty()) return;
    blocks.push_back(std::move(block));
    block = {};
  };
  while (!rows.empty()) {
    const char* const begin = rows.data();
    const auto head = take_row(rows);
    if (!head) break;
    const auto size = static_cast<std::size_t>(rows.data() - begin);
    if (block.rows.size() + size > full_block) close();
    if (block.rows.empty())
      block = {next_position_++, head->number, head->number, head->at, head->at, std::string()};
    block.lowest = std::min(block.lowest, head->number);
    block.highest = std::max(block.highest, head->number);
    block.earliest = std::min(block.earliest, head->at);
    block.latest = std::max(block.latest, head->at);
    block.rows.append(begin, size);
  }
  close();
  if (!blocks.empty() && blocks.back().rows.size() < full_block / 2) open_ = blocks.back();
}

void DecisionLog::flush() {
  write_rows();
  if (lines_) write_lines();
}

void DecisionLog::write_rows() {
  const base::Guard writing(write_mutex_);
  std::string rows;
  std::size_t count = 0;
  {
    const base::Guard guard(mutex_);
    waked_ = false;
    rows.swap(waiting_);
    count = std::exchange(waiting_rows_, 0);
  }
  if (rows.empty()) return;
  std::vector<Block> blocks;
  add_to_blocks(rows, blocks);
  auto written = blocks_->write(blocks, clock_.now() - options_.keep_for.count());
  // After a failure nothing is known about the open block.
  if (!written) open_ = {};
  (written ? written_ : dropped_).fetch_add(count, std::memory_order_relaxed);
  {
    const base::Guard guard(mutex_);
    trouble_ = written ? std::string() : written.error().message;
  }
  if (lines_) queue_lines(rows, count);
}

void DecisionLog::queue_lines(std::string_view rows, std::size_t count) {
  const base::Guard guard(mutex_);
  if (line_rows_.size() + rows.size() > options_.most_waiting) {
    lines_lost_.fetch_add(count, std::memory_order_relaxed);
    return;
  }
  line_rows_ += rows;
}

void DecisionLog::write_lines() {
  const base::Guard writing(line_mutex_);
  // What a slow reader has not taken comes first, so that it stays one line.
  if (line_rest_.empty()) {
    std::string queued;
    {
      const base::Guard guard(mutex_);
      queued.swap(line_rows_);
    }
    std::string_view rows = queued;
    while (auto head = take_row(rows)) {
      auto entry = read_entry(*head);
      if (!entry) continue;
      entry->id = id_of(entry->number);
      append_json(line_rest_, *entry);
      line_rest_ += '\n';
    }
  }
  const LineFile::Written written = lines_->write(line_rest_, options_.line_patience);
  line_rest_.erase(0, written.bytes);
  if (!written.failed) return;
  const auto lost = std::count(line_rest_.begin(), line_rest_.end(), '\n');
  lines_lost_.fetch_add(static_cast<std::uint64_t>(lost), std::memory_order_relaxed);
  line_rest_.clear();
}

Result<Entry> DecisionLog::find(std::string_view id, std::string_view name_space, Audience audience) {
  write_rows();
  return DecisionReader(*blocks_, id_, options_.path).find(id, name_space, audience);
}

Result<Page<Entry>> DecisionLog::list(const Filter& filter, const Paging& paging) {
  write_rows();
  return DecisionReader(*blocks_, id_, options_.path).list(filter, paging);
}

Result<void> DecisionLog::reopen_lines() { return lines_ ? lines_->reopen() : Result<void>(); }

std::string DecisionLog::trouble() const {
  const base::Guard guard(mutex_);
  return trouble_;
}

}  // namespace weir::decision_log

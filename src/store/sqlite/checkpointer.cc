#include "store/sqlite/checkpointer.h"

namespace weir::sqlite {
namespace {

// 8 MB of log between two checkpoints: checkpoints are rare, and recovery after a crash is short.
constexpr int pages_between = 2000;
// The most that the writer copies while its callers wait: 1 MB.
constexpr int few_pages = 256;
// Back pressure on a log that grows faster than it is copied: from here on (64 MB) callers wait.
constexpr int most_pages = 16'384;
constexpr int most_rounds = 8;

}  // namespace

Checkpointer::Checkpointer(std::unique_ptr<Database> database, bool enabled)
    : database_(std::move(database)),
      enabled_(enabled),
      next_at_(pages_between),
      thread_([this] { run(); }) {}

Checkpointer::~Checkpointer() {
  {
    const base::Guard guard(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void Checkpointer::log_has(int pages) {
  if (!enabled_) return;
  pages_.store(pages, std::memory_order_relaxed);
  // The log started over.
  if (pages < pages_between) next_at_.store(pages_between, std::memory_order_relaxed);
  if (pages < next_at_.load(std::memory_order_relaxed)) return;
  next_at_.store(pages + pages_between, std::memory_order_relaxed);
  const base::Guard guard(mutex_);
  wanted_ = true;
  wake_.notify_one();
}

void Checkpointer::run() {
  const base::Guard guard(mutex_);
  for (;;) {
    while (!stopping_ && !wanted_) wake_.wait(mutex_);
    if (stopping_) return;
    wanted_ = false;
    const base::Release release(mutex_);
    copy();
  }
}

void Checkpointer::copy() {
  for (int round = 0; round < most_rounds; ++round) {
    const auto checkpoint = database_->checkpoint();
    // The writer meets the same failure and reports it.
    if (!checkpoint) return;
    const int left = pages_.load(std::memory_order_relaxed) - (checkpoint->pages - checkpoint->left);
    if (left <= few_pages || checkpoint->pages >= most_pages) {
      last_step_.store(true, std::memory_order_relaxed);
      return;
    }
  }
}

void Checkpointer::last_step_done(const Database::Checkpoint& checkpoint) {
  if (checkpoint.left == 0 || checkpoint.pages < most_pages)
    last_step_.store(false, std::memory_order_relaxed);
}

}  // namespace weir::sqlite

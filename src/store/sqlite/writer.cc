#include "store/sqlite/writer.h"

#include "base/text.h"

namespace weir::sqlite {
namespace {

using namespace std::chrono_literals;

// Nobody waits for these: rows whose expiry was put off, cleaning, and trying again after a failure.
constexpr auto soon = 100ms;
constexpr auto later = 30s;

// Gathering: how long, for how many, and how many commits it is left alone after it brought nobody.
constexpr auto patience = 200us;
constexpr std::size_t worth_gathering = 16;
constexpr unsigned rests = 64;

}  // namespace

Writer::Writer(Journal& journal, table::Table& table, Checkpointer& checkpointer,
               std::function<Cleaner::Moment()> moment)
    : journal_(journal),
      table_(table),
      checkpointer_(checkpointer),
      moment_(std::move(moment)),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void Writer::commit(Done done) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(done);
  if (waiting_.size() == 1 || waiting_.size() == wanted_) wake_.notify_one();
}

/// Many callers ask again as soon as they are answered. Left alone they split into two halves, one that waits
/// while the other is written; a moment's patience has one commit serve both.
void Writer::gather(std::unique_lock<std::mutex>& lock) {
  const std::size_t before = waiting_.size();
  if (expected_ < worth_gathering || before >= expected_) return;
  if (rests_ > 0) {
    --rests_;
    return;
  }
  wanted_ = expected_;
  wake_.wait_for(lock, patience, [this] { return stopping_ || waiting_.size() >= wanted_; });
  wanted_ = 0;
  if (waiting_.size() < before + before / 4) rests_ = rests;
}

void Writer::run() {
  bool more = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, more ? std::chrono::milliseconds(soon) : later,
                   [this] { return stopping_ || !waiting_.empty(); });
    const bool idle = waiting_.empty();
    if (idle && stopping_) break;
    if (!idle) gather(lock);
    served_.swap(waiting_);
    const std::size_t served = served_.size();
    lock.unlock();
    flush();
    more = work(idle);
    lock.lock();
    expected_ = served + waiting_.size();
  }
  lock.unlock();
  flush();
}

void Writer::flush() {
  const auto flushed = journal_.flush(table_);
  note(flushed);
  for (const Done& done : served_) {
    if (flushed) {
      done(store::Progress::decided);
    } else {
      done(
          base::error(ErrorCode::outcome_unknown,
                      "the charge could not be written and may or may not count: ", flushed.error().message));
    }
  }
  served_.clear();
}

void Writer::note(const Result<void>& flushed) {
  if (flushed) {
    failing_.store(nullptr, std::memory_order_release);
    return;
  }
  if (failures_.empty() || failures_.back()->message != flushed.error().message)
    // Who comes from now on is not charged at all.
    failures_.push_back(std::make_unique<Error>(Error{ErrorCode::unavailable, flushed.error().message}));
  failing_.store(failures_.back().get(), std::memory_order_release);
}

bool Writer::work(bool idle) {
  if (failure() != nullptr) return true;
  if (checkpointer_.wants_last_step()) {
    const auto checkpoint = journal_.checkpoint();
    if (checkpoint) checkpointer_.last_step_done(*checkpoint);
  }
  if (!idle && !journal_.cleaning_is_behind()) return true;
  const auto cleaned = journal_.clean(moment_());
  return cleaned && *cleaned;
}

}  // namespace weir::sqlite

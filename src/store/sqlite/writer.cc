#include "store/sqlite/writer.h"

#include "base/text.h"

namespace weir::sqlite {
namespace {

using namespace std::chrono_literals;

// Nobody waits for these: rows whose expiry was put off, cleaning, and trying again after a failure.
constexpr auto soon = 100ms;
constexpr auto later = 30s;

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
  if (waiting_.size() == 1) wake_.notify_one();
}

void Writer::run() {
  bool more = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait_for(lock, more ? std::chrono::milliseconds(soon) : later,
                   [this] { return stopping_ || !waiting_.empty(); });
    const bool idle = waiting_.empty();
    if (idle && stopping_) break;
    served_.swap(waiting_);
    lock.unlock();
    flush();
    more = work(idle);
    lock.lock();
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

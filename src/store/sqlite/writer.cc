#include "store/sqlite/writer.h"

#include <algorithm>

#include "base/text.h"

namespace weir::sqlite {
namespace {

using namespace std::chrono_literals;

// Background work that no caller waits for: rows whose expiry was extended, cleaning, and retries after a
// failure.
constexpr auto soon = 100ms;
constexpr auto later = 30s;
// How long a commit waits for further callers to join it. The delay is small compared with the commit, and
// bounded, so that one slow caller does not delay the others.
constexpr auto moment_to_gather = 500us;

}  // namespace

Writer::Writer(FileWriter& file_writer, table::Table& table, Checkpointer& checkpointer,
               std::function<Cleaner::Moment()> moment)
    : file_writer_(file_writer),
      table_(table),
      checkpointer_(checkpointer),
      moment_(std::move(moment)),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const base::Guard guard(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void Writer::commit(Done done) {
  if (wait_for_commit(done)) wake_.notify_one();
}

/// Returns whether the writer has to be woken.
bool Writer::wait_for_commit(Done done) {
  store::Executor* const executor = store::Executor::here();
  const base::Guard guard(mutex_);
  auto group = std::find_if(waiting_.begin(), waiting_.end(),
                            [&](const PendingCommit& waiting) { return waiting.executor == executor; });
  if (group == waiting_.end()) group = waiting_.insert(group, {executor, {}});
  group->done.push_back(done);
  if (awaited_.load()) return false;
  awaited_.store(true);
  // Within a round more operations will follow, and its end wakes the writer soon. Threads without an
  // executor have no rounds, and must not wait for those of other threads.
  return executor == nullptr || rounds_.load() <= 0;
}

void Writer::end_round() {
  rounds_.fetch_sub(1);
  if (!awaited_.load()) return;
  // Taking the lock ensures that a writer between its test and its wait does not miss the notification.
  {
    const base::Guard guard(mutex_);
  }
  // Notify without the lock, which the writer acquires first.
  wake_.notify_one();
}

/// Callers that the last commit answered are about to ask for the next one. Waiting for them makes one commit
/// of all; otherwise each half of the callers would wait for the commit of the other half.
void Writer::gather() {
  const auto end = std::chrono::steady_clock::now() + moment_to_gather;
  while (!stopping_ && rounds_.load() > 0 && wake_.wait_until(mutex_, end)) {
  }
  awaited_.store(false);
}

void Writer::run() {
  for (bool more = true; serve(more);) {
  }
  flush();
}

/// One commit, or an idle wait. False: the thread ends.
bool Writer::serve(bool& more) {
  bool idle = false;
  {
    const base::Guard guard(mutex_);
    const auto end = std::chrono::steady_clock::now() + (more ? std::chrono::milliseconds(soon) : later);
    while (!stopping_ && waiting_.empty() && wake_.wait_until(mutex_, end)) {
    }
    if (!waiting_.empty()) gather();
    idle = waiting_.empty();
    if (idle && stopping_) return false;
    served_.swap(waiting_);
  }
  flush();
  more = work(idle);
  return true;
}

void Writer::flush() {
  const auto flushed = file_writer_.flush(table_);
  note(flushed);
  Result<store::Progress> result = store::Progress::decided;
  if (!flushed) {
    result =
        base::error(ErrorCode::outcome_unknown,
                    "the charge could not be written and may or may not count: ", flushed.error().message);
  }
  for (PendingCommit& waiting : served_) {
    store::Completed completed{std::move(waiting.done), result};
    if (waiting.executor != nullptr) {
      waiting.executor->post(std::move(completed));
    } else {
      completed.tell();
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
    // Later callers fail with unavailable and are not charged.
    failures_.push_back(std::make_unique<Error>(Error{ErrorCode::unavailable, flushed.error().message}));
  failing_.store(failures_.back().get(), std::memory_order_release);
}

bool Writer::work(bool idle) {
  if (failure() != nullptr) return true;
  if (checkpointer_.wants_last_step()) {
    const auto checkpoint = file_writer_.checkpoint();
    if (checkpoint) checkpointer_.last_step_done(*checkpoint);
  }
  if (!idle && !file_writer_.cleaning_is_behind()) return true;
  const auto cleaned = file_writer_.clean(moment_());
  return cleaned && *cleaned;
}

}  // namespace weir::sqlite

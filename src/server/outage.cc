#include "server/outage.h"

namespace weir::server {
namespace {

// Bounded, since callers may name any namespace while the store is unavailable.
constexpr std::size_t most_owed = 4096;

// Failures that are no outage are logged at most once in this many milliseconds.
constexpr Time hiccups_apart = 60'000;

/// One read of a namespace's system limits.
struct PolicyRead {
  std::shared_ptr<LastKnown> last_known;
  std::string name_space;

  static void done(void* context, Result<limits::LimitsRecordRef>&& record) {
    const std::unique_ptr<PolicyRead> self(static_cast<PolicyRead*>(context));
    if (record) {
      self->last_known->set(self->name_space, (*record)->on_unavailable);
    } else if (record.error().code == ErrorCode::not_found) {
      self->last_known->set(self->name_space, std::nullopt);
    } else {
      self->last_known->owe(self->name_space);
    }
  }
};

}  // namespace

Undecided undecided(const Error& error, OnUnavailable policy) {
  using telemetry::Outcome;
  if (error.code == ErrorCode::unavailable && policy == OnUnavailable::allow)
    return {true, Outcome::degraded};
  return {false, error.code == ErrorCode::contention ? Outcome::contended : Outcome::error};
}

void LastKnown::set(const std::string& name_space, std::optional<OnUnavailable> policy) {
  const base::Guard guard(mutex_);
  owed_.erase(name_space);
  if (policy) {
    policies_[name_space] = *policy;
  } else {
    policies_.erase(name_space);
  }
}

std::optional<OnUnavailable> LastKnown::get(std::string_view name_space) const {
  const base::Guard guard(mutex_);
  const auto found = policies_.find(name_space);
  if (found == policies_.end()) return std::nullopt;
  return found->second;
}

void LastKnown::owe(const std::string& name_space) {
  const base::Guard guard(mutex_);
  if (owed_.size() < most_owed) owed_.insert(name_space);
}

std::set<std::string> LastKnown::take_owed() {
  const base::Guard guard(mutex_);
  return std::exchange(owed_, {});
}

void Outage::failed(const Error& error) {
  if (!up() || !look()) return;
  // The store is up but failed this request: for example, one page of its file cannot be read.
  const base::Guard guard(mutex_);
  const Time now = parts_.clock.now();
  const bool soon = last_hiccup_ && now >= *last_hiccup_ && now - *last_hiccup_ < hiccups_apart;
  if (soon || parts_.log == nullptr) return;
  last_hiccup_ = now;
  parts_.log->warning("the store could not answer a request", {{"error", error.message}});
}

Result<void> Outage::look() {
  auto health = parts_.store.health();
  if (health.ok() != up()) change(health.ok(), health ? std::string_view() : health.error().message);
  return health;
}

void Outage::change(bool up, std::string_view error) {
  {
    const base::Guard guard(mutex_);
    // Of several threads that see the change, one reports it.
    if (up_.exchange(up, std::memory_order_relaxed) == up) return;
    parts_.metrics.set_store_up(up);
    const Time now = parts_.clock.now();
    if (!up) unavailable_since_ = now;
    if (parts_.log != nullptr && up) {
      const std::string away = std::to_string(now - unavailable_since_);
      parts_.log->warning("the store is back", {{"unavailable_ms", away, true}});
    } else if (parts_.log != nullptr) {
      parts_.log->warning("the store is unavailable", {{"error", error}});
    }
  }
  if (!up) return;
  for (const std::string& name_space : last_known_->take_owed()) learn(name_space);
}

OnUnavailable Outage::policy(std::string_view name_space) const {
  if (parts_.flag) return *parts_.flag;
  return last_known_->get(name_space).value_or(parts_.otherwise);
}

void Outage::learn(const std::string& name_space) {
  if (parts_.flag) return;
  if (!up()) return last_known_->owe(name_space);
  learn_changed(name_space);
}

void Outage::learn_changed(const std::string& name_space) {
  if (parts_.flag) return;
  auto learning = std::make_unique<PolicyRead>(PolicyRead{last_known_, name_space});
  const std::string& name = learning->name_space;
  parts_.store.catalog().limits(name, Level::system(), {&PolicyRead::done, learning.release()});
}

}  // namespace weir::server

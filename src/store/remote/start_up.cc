#include "store/remote/start_up.h"

#include <cstring>
#include <utility>

#include "store/audit.h"

namespace weir::remote {

StartUp::StartUp(base::Entropy& entropy, std::chrono::milliseconds between, Error not_yet)
    : between_(between), keep_audit_for_(store::keep_audit_for_by_default), result_(std::move(not_yet)) {
  const base::Guard guard(mutex_);
  entropy.fill(keys_.emplace_back());
  lease_key_.store(&keys_.back(), std::memory_order_release);
}

void StartUp::read(std::chrono::milliseconds patience) {
  {
    const base::Guard guard(mutex_);
    if (std::exchange(reading_, true)) return;
    tried_at_ = std::chrono::steady_clock::now();
  }
  request(patience);
}

Result<void> StartUp::read_and_wait(std::chrono::milliseconds patience) {
  read(patience);
  const base::Guard guard(mutex_);
  while (reading_) ended_.wait(mutex_);
  return result_;
}

bool StartUp::is_due(std::chrono::milliseconds after) {
  const base::Guard guard(mutex_);
  return !reading_ && std::chrono::steady_clock::now() - tried_at_ >= after;
}

Result<void> StartUp::check() {
  if (opened()) [[likely]]
    return {};
  Result<void> result;
  {
    const base::Guard guard(mutex_);
    result = result_;
  }
  if (is_due(between_)) read();
  return result;
}

void StartUp::end(Result<void> result) {
  // Notify with the lock held: once it is released, the waiter may destroy the store.
  const base::Guard guard(mutex_);
  reading_ = false;
  result_ = std::move(result);
  if (result_) opened_.store(true, std::memory_order_release);
  ended_.notify_all();
}

bool StartUp::set_lease_key(std::string_view bytes) {
  if (bytes.size() != sizeof(store::LeaseKey)) return false;
  const base::Guard guard(mutex_);
  if (bytes == lease_key_bytes()) return true;
  std::memcpy(keys_.emplace_back().data(), bytes.data(), bytes.size());
  lease_key_.store(&keys_.back(), std::memory_order_release);
  return true;
}

std::string_view StartUp::lease_key_bytes() const {
  const store::LeaseKey& key = lease_key();
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace weir::remote

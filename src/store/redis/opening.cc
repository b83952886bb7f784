#include "store/redis/opening.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "store/audit.h"

namespace weir::redis {
namespace {

/// Of the layout of keys and values. A store of an earlier one is upgraded, of a later one refused.
constexpr std::int64_t format_version = 2;
/// While the server answers but does not let us read.
constexpr std::chrono::milliseconds between_openings{100};

}  // namespace

Opening::Opening(Site& site) : ScriptCall(site), keep_audit_for_(store::keep_audit_for_by_default) {
  // Nothing changes that is there, so it may be sent again.
  repeatable = true;
  within = site.client.options().connect_within;
  keys_.emplace_back();
  site.entropy.fill(keys_.back());
  lease_key_.store(&keys_.back(), std::memory_order_release);
}

void Opening::read() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(reading_, true)) return;
    tried_at_ = std::chrono::steady_clock::now();
  }
  // A server that has lost everything gets the key that leases were signed with so far.
  const store::LeaseKey& ours = lease_key();
  begin(Script::open(), 1, 3);
  key(site().names.store());
  word(format_version);
  word(std::string_view(reinterpret_cast<const char*>(ours.data()), ours.size()));
  send();
}

Result<void> Opening::read_and_wait() {
  read();
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return !reading_; });
  if (trouble_.empty()) return {};
  return base::error(ErrorCode::unavailable, "Redis at ", trouble_);
}

std::string Opening::trouble() {
  if (opened()) return {};
  std::string why;
  if (!site().client.up()) {
    why = site().client.trouble();
    return why.empty() ? address() + " is not connected yet" : why;
  }
  bool try_again = false;
  {
    const std::scoped_lock lock(mutex_);
    why = trouble_.empty() ? address() + " is only just being asked for the store's settings" : trouble_;
    try_again = !reading_ && std::chrono::steady_clock::now() - tried_at_ >= between_openings;
  }
  if (try_again) read();
  return why;
}

void Opening::replied(const Reply& reply) {
  auto taken = take(reply);
  end(taken ? std::string() : base::join(address(), " ", taken.error().message));
}

/// The server's own words, which begin with "Redis".
void Opening::failed(Error error) {
  const std::string_view why = error.message;
  end(address() + std::string(why.substr(std::min(why.find(' '), why.size()))));
}

std::string Opening::address() const { return site().client.options().address.to_string(); }

void Opening::end(std::string trouble) {
  // Told with the lock held: once it is released, whoever waits may end the store.
  const std::scoped_lock lock(mutex_);
  reading_ = false;
  trouble_ = std::move(trouble);
  if (trouble_.empty()) opened_.store(true, std::memory_order_release);
  ended_.notify_all();
}

Result<void> Opening::take(const Reply& reply) {
  if (!reply.is_list() || reply.size() != 5) return base::error(ErrorCode::unavailable, "answers nonsense");
  auto at = reply.children();
  const Time seconds = at.next().integer().value_or(0);
  const Time now = seconds * 1000 + at.next().integer().value_or(0) / 1000;
  const std::string key = site().names.store();
  if (at.next().integer() != format_version) {
    return base::error(ErrorCode::unavailable, "has in ", base::quoted(key),
                       " what another version of weir wrote; use that one, or another prefix");
  }
  const std::string_view bytes = at.next().text();
  if (bytes.size() != sizeof(store::LeaseKey))
    return base::error(ErrorCode::unavailable, "has a damaged lease key in ", base::quoted(key));
  site().time.learn(now);
  set_lease_key(bytes);
  keep_audit_for(at.next().integer().value_or(store::keep_audit_for_by_default));
  return {};
}

void Opening::set_lease_key(std::string_view bytes) {
  if (std::memcmp(lease_key().data(), bytes.data(), bytes.size()) == 0) return;
  const std::scoped_lock lock(mutex_);
  std::memcpy(keys_.emplace_back().data(), bytes.data(), bytes.size());
  lease_key_.store(&keys_.back(), std::memory_order_release);
}

}  // namespace weir::redis

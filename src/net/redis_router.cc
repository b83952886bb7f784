#include "net/redis_router.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace weir::net {

namespace resp = wire::resp;

namespace {

/// How often the nodes of a cluster are asked who has which slots, while something is wrong.
constexpr std::chrono::milliseconds between_refreshes{100};
constexpr std::uint8_t most_redirects = 8;

/// "10.0.0.1:7000", with the host of whoever said it where it is missing.
RedisAddress address_of(std::string_view text, const std::string& speaker) {
  RedisAddress address;
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  address.host = host.empty() ? speaker : std::string(host);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::from_chars(port.data(), port.data() + port.size(), address.port);
  return address;
}

}  // namespace

RedisRouter::RedisRouter(RedisClient& client, base::Entropy& entropy, std::string channel,
                         RedisListener* listener)
    : client_(client),
      entropy_(entropy),
      listener_(listener),
      loop_(std::make_shared<Loop>(std::chrono::milliseconds(1))),
      bell_(loop_->readiness(), [this] { take_calls(); }) {
  slots_call_.command = resp::command({"CLUSTER", "SLOTS"});
  slots_call_.repeatable = true;
  const RedisOptions& options = client_.options_;
  if (options.cluster) slots_.resize(slot_count);
  if (listener_ != nullptr) {
    subscription_ = std::make_unique<RedisLink>(loop_, options, options.address, *this, entropy_,
                                                resp::command({"SUBSCRIBE", channel}));
  }
}

void RedisRouter::start() {
  loop_->post([this] {
    link_to(client_.options_.address);
    if (subscription_) subscription_->connect();
    start_ticking();
  });
  thread_ = std::thread([this] { loop_->run(); });
}

RedisRouter::~RedisRouter() {
  if (!thread_.joinable()) return;
  loop_->post([this] { stop(); });
  thread_.join();
}

void RedisRouter::stop() {
  take_calls();
  stopped_ = true;
  for (auto& [address, link] : links_) link->close("the client is closing");
  if (subscription_) subscription_->close("the client is closing");
  for (RedisCall* call : std::exchange(later_, {})) on_failed(*call, {false, "the client is closing"});
  loop_->stop();
}

void RedisRouter::take_calls() {
  RedisCall* taken = client_.handed_over_.exchange(nullptr, std::memory_order_acquire);
  RedisCall* in_order = nullptr;
  while (taken != nullptr) {
    RedisCall* next = std::exchange(taken->next_, in_order);
    in_order = std::exchange(taken, next);
  }
  while (in_order != nullptr) {
    RedisCall& call = *std::exchange(in_order, in_order->next_);
    route(call);
  }
  flush();
  start_ticking();
}

void RedisRouter::flush() {
  for (auto& [address, link] : links_) link->flush();
}

RedisLink& RedisRouter::link_to(const RedisAddress& address) {
  auto& link = links_[address];
  if (link == nullptr) {
    link = std::make_unique<RedisLink>(loop_, client_.options_, address, *this, entropy_);
    link->connect();
    start_ticking();
  }
  return *link;
}

RedisLink* RedisRouter::link_for(int slot) {
  if (slots_.empty()) return links_.begin()->second.get();
  if (slot >= 0) return slots_[static_cast<std::size_t>(slot)];
  for (auto& [address, link] : links_) {
    if (link->ready() && link->hopeful()) return link.get();
  }
  return links_.begin()->second.get();
}

void RedisRouter::route(RedisCall& call) {
  if (stopped_) return on_failed(call, {false, "the client is closing"});
  RedisLink* const link = link_for(call.slot);
  if (link == nullptr) {
    refresh_wanted_ = true;
    return on_failed(call, {false, "no node of the cluster is known to have the slot of this key"});
  }
  if (!link->hopeful()) return on_failed(call, {false, link->trouble()});
  link->submit(call);
}

void RedisRouter::on_failed(RedisCall& call, const RedisFailure& failure) {
  if (std::exchange(call.counted_, false)) client_.outstanding_.fetch_sub(1, std::memory_order_relaxed);
  call.on_failure(failure);
}

void RedisRouter::on_answer(RedisLink& link, RedisCall& call, const resp::Reply& reply) {
  if (reply.is_error() && client_.options_.cluster && redirect(link, call, reply.text())) return;
  if (std::exchange(call.counted_, false)) client_.outstanding_.fetch_sub(1, std::memory_order_relaxed);
  if (&call == &slots_call_) refreshed_from_ = link.address().host;
  call.on_reply(reply);
}

/// Where a call has to go instead. None of these errors has changed anything.
bool RedisRouter::redirect(RedisLink& link, RedisCall& call, std::string_view error) {
  const bool moved = error.starts_with("MOVED ");
  const bool ask = error.starts_with("ASK ");
  const bool again = error.starts_with("TRYAGAIN") || error.starts_with("CLUSTERDOWN");
  if (!moved && !ask && !again) return false;
  if (moved || again) refresh_wanted_ = true;
  if (call.redirects_++ == most_redirects) return false;
  if (again) {
    later_.push_back(&call);
    return true;
  }
  const RedisAddress to = address_of(error.substr(error.rfind(' ') + 1), link.address().host);
  RedisLink& other = link_to(to);
  if (moved && call.slot >= 0) slots_[static_cast<std::size_t>(call.slot)] = &other;
  call.asking_ = ask;
  other.submit(call);
  other.flush();
  return true;
}

void RedisRouter::on_ready(RedisLink& link) {
  if (&link == subscription_.get()) return;
  if (client_.options_.cluster && !slots_known_) refresh_wanted_ = true;
  const bool was_up = client_.up();
  update_state();
  if (was_up && client_.up() && listener_ != nullptr) listener_->on_connected();
  start_ticking();
}

void RedisRouter::on_lost(RedisLink& link) {
  start_ticking();
  if (&link == subscription_.get()) {
    if (std::exchange(subscribed_, false)) listener_->on_unsubscribed();
    return;
  }
  refresh_wanted_ = true;
  update_state();
}

void RedisRouter::update_state() {
  if (client_.options_.cluster && !slots_known_) {
    const RedisLink& first = *links_.begin()->second;
    if (!first.hopeful()) client_.set_up(false, first.trouble());
    return;
  }
  for (const auto& [address, link] : links_) {
    if (link->hopeful()) continue;
    // A node that has no slots any more is of no concern.
    const bool used = slots_.empty() || std::find(slots_.begin(), slots_.end(), link.get()) != slots_.end();
    if (!used) continue;
    client_.set_up(false, link->trouble());
    return;
  }
  const bool connected = !slots_.empty() || links_.begin()->second->ready();
  if (connected && client_.set_up(true, {}) && listener_ != nullptr) listener_->on_connected();
}

void RedisRouter::on_push(RedisLink& link, const resp::Reply& push) {
  if (&link != subscription_.get() || !push.is_list()) return;
  auto child = push.children();
  const std::string_view kind = child.next().text();
  if (kind == "subscribe") {
    subscribed_ = true;
    listener_->on_subscribed();
  } else if (kind == "message") {
    child.next();
    listener_->on_message(child.next().text());
  }
}

void RedisRouter::start_ticking() {
  if (ticking_ || stopped_) return;
  ticking_ = true;
  loop_->set_ticks(*this, static_cast<std::uint64_t>(redis_tick / std::chrono::milliseconds(1)));
}

void RedisRouter::on_deadline() {
  ticking_ = false;
  if (!stopped_) tick();
}

void RedisRouter::tick() {
  const Clock::time_point now = Clock::now();
  for (RedisCall* call : std::exchange(later_, {})) {
    if (call->expires_ <= now + redis_tick) {
      on_failed(*call, {false, "the cluster is not ready for this key"});
    } else {
      route(*call);
    }
  }
  bool busy = !later_.empty();
  for (auto& [address, link] : links_) {
    link->tick(now);
    busy = busy || !link->idle() || !link->ready();
  }
  if (subscription_) {
    subscription_->tick(now);
    busy = busy || !subscription_->ready();
  }
  if (client_.options_.cluster && (refresh_wanted_ || !client_.up())) refresh(now);
  flush();
  // With nothing to wait for, no timer disturbs the machine.
  if (busy || refresh_wanted_ || refreshing_ || !client_.up()) start_ticking();
}

void RedisRouter::refresh(Clock::time_point now) {
  if (refreshing_ || now < refresh_at_) return;
  RedisLink* const link = link_for(-1);
  if (!link->ready()) return;
  refresh_at_ = now + between_refreshes;
  refresh_wanted_ = false;
  refreshing_ = true;
  slots_call_.expires_ = now + client_.options_.connect_within;
  link->submit(slots_call_);
}

void RedisRouter::slots_answered(const resp::Reply& reply) {
  refreshing_ = false;
  if (reply.is_error()) {
    client_.set_up(false, base::join(refreshed_from_, " is no node of a cluster: ", reply.text()));
    refresh_wanted_ = true;
    return;
  }
  learn_slots(reply, refreshed_from_);
  update_state();
}

/// Each range of slots: the first, the last, the primary, its replicas.
void RedisRouter::learn_slots(const resp::Reply& reply, const std::string& asked_host) {
  std::vector<RedisLink*> slots(slot_count);
  std::size_t known = 0;
  for (auto range = reply.children(); !range.at_end(); ++range) {
    if (!range->is_list()) return;
    auto part = range->children();
    const auto first = part.next().integer();
    const auto last = part.next().integer();
    const resp::Reply primary = part.next();
    if (!first || !last || *first < 0 || *last >= static_cast<std::int64_t>(slot_count)) return;
    if (!primary.is_list()) return;
    auto where = primary.children();
    const std::string_view host = where.next().text();
    const auto port = where.next().integer();
    if (!port || *port < 1 || *port > 65'535) return;
    RedisLink& link = link_to(
        {host.empty() || host == "?" ? asked_host : std::string(host), static_cast<std::uint16_t>(*port)});
    for (std::int64_t slot = *first; slot <= *last; ++slot, ++known)
      slots[static_cast<std::size_t>(slot)] = &link;
  }
  slots_ = std::move(slots);
  slots_known_ = known == slot_count;
  if (!slots_known_) refresh_wanted_ = true;
}

}  // namespace weir::net

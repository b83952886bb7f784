#include "gateway/upstream.h"

namespace weir::gateway {
namespace {

// After this many failures in a row an upstream is skipped for this long, if there are others.
constexpr unsigned most_failures = 2;
constexpr std::chrono::seconds left_alone{10};

}  // namespace

Pool::~Pool() {
  for (auto* const list : {&idle_, &busy_}) {
    for (auto& connection : *list) close(std::move(connection));
  }
}

void Pool::close(std::unique_ptr<UpstreamConnection> connection) {
  connection->close();
  loop_.retire(std::move(connection));
}

void Pool::add(List& list, std::unique_ptr<UpstreamConnection> connection) {
  connection->place_ = list.size();
  list.push_back(std::move(connection));
}

std::unique_ptr<UpstreamConnection> Pool::release(UpstreamConnection& connection) {
  List& list = connection.idle_ ? idle_ : busy_;
  const std::size_t place = connection.place_;
  if (place >= list.size() || list[place].get() != &connection) return nullptr;
  std::unique_ptr<UpstreamConnection> taken = std::move(list[place]);
  if (place + 1 != list.size()) {
    list[place] = std::move(list.back());
    list[place]->place_ = place;
  }
  list.pop_back();
  connection.idle_ = false;
  return taken;
}

UpstreamConnection* Pool::take(net::OutboundUser& user) {
  if (idle_.empty()) return nullptr;
  // The most recently used one, so that surplus connections become idle long enough to be closed.
  UpstreamConnection& taken = *idle_.back();
  add(busy_, release(taken));
  taken.use(user);
  return &taken;
}

UpstreamConnection* Pool::connect(net::OutboundUser& user, std::chrono::milliseconds timeout) {
  const std::vector<net::Address> addresses = server_->addresses();
  if (addresses.empty()) return nullptr;
  auto made = std::make_unique<UpstreamConnection>(*this, loop_);
  const net::Address& address = addresses[next_address_ % addresses.size()];
  if (!made->connect(user, {{address}, server_->tls(), server_->url().at.host}, timeout)) {
    failed();
    return nullptr;
  }
  add(busy_, std::move(made));
  return busy_.back().get();
}

void Pool::keep(UpstreamConnection& connection) {
  auto kept = release(connection);
  if (kept == nullptr) return;
  if (idle_.size() >= most_idle) return close(std::move(kept));
  kept->rest(*this, longest_idle);
  ++kept->served_;
  kept->idle_ = true;
  add(idle_, std::move(kept));
}

void Pool::drop(UpstreamConnection& connection) {
  if (auto dropped = release(connection)) close(std::move(dropped));
}

void Pool::failed() {
  ++next_address_;
  if (++failures_ < most_failures) return;
  failures_ = 0;
  down_until_ = std::chrono::steady_clock::now() + left_alone;
}

bool Pool::healthy() const {
  return down_until_ == std::chrono::steady_clock::time_point{} ||
         std::chrono::steady_clock::now() >= down_until_;
}

}  // namespace weir::gateway

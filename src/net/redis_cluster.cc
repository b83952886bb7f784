// The slots of the nodes of a cluster: discovery and redirects.
#include <charconv>

#include "base/text.h"
#include "net/redis_client.h"

namespace weir::net {

namespace resp = wire::resp;

namespace {

/// How often the slots are requested from the nodes while some are unknown or unavailable.
constexpr std::chrono::milliseconds between_refreshes{100};
constexpr std::uint8_t most_redirects = 8;

/// "10.0.0.1:7000", with the host of the answering node where the host is missing.
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

/// Follows a redirect. The server has not carried out a command that it answers with one of these errors.
bool RedisClient::redirect(RedisLink& link, RedisCall& call, std::string_view error) {
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

void RedisClient::refresh(Clock::time_point now) {
  if (refreshing_ || now < refresh_at_) return;
  RedisLink* const link = link_for(-1);
  if (!link->ready()) return;
  refresh_at_ = now + between_refreshes;
  refresh_wanted_ = false;
  refreshing_ = true;
  slots_call_.expires_ = now + options_.connect_within;
  link->submit(slots_call_);
}

void RedisClient::slots_answered(const resp::Reply& reply) {
  refreshing_ = false;
  if (reply.is_error()) {
    set_up(false, base::join(refreshed_from_, " is no node of a cluster: ", reply.text()));
    refresh_wanted_ = true;
    return;
  }
  learn_slots(reply, refreshed_from_);
  update_state();
}

/// Each range of slots: the first, the last, the primary, its replicas.
void RedisClient::learn_slots(const resp::Reply& reply, const std::string& asked_host) {
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

#include "store/redis/start_up.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "store/audit.h"
#include "store/client_version.h"

namespace weir::redis {
namespace {

/// The version of keys and values. A store of an earlier version is upgraded to the least one. A feature that
/// the least version cannot read raises it on first use (store/client_version.h). A later version than the
/// newest is refused. Version 4 has buckets that count usage, which earlier versions would refuse.
constexpr std::int64_t least_format = 4;
constexpr std::int64_t newest_format = store::client_version;
static_assert(newest_format >= least_format);
/// The time between attempts while the server answers but rejects the read.
constexpr std::chrono::milliseconds between_openings{100};

std::string address_of(const Context& context) { return context.client.options().address.to_string(); }

}  // namespace

StartUp::StartUp(Context& context)
    : remote::StartUp(context.entropy, between_openings,
                      in_trouble(address_of(context) + " is only just being asked for the store's settings")),
      ScriptCall(context) {
  // Existing settings do not change, so the call may be sent again.
  repeatable = true;
  within = context.client.options().connect_within;
}

void StartUp::request(std::chrono::milliseconds /*patience*/) {
  begin(Script::open(), 1, 3);
  key(context().names.store());
  word(least_format);
  // A server that has lost its data gets the present lease key again, so that earlier ids stay valid.
  word(lease_key_bytes());
  send();
}

Result<void> StartUp::read_and_wait() {
  auto read = remote::StartUp::read_and_wait();
  if (read) return read;
  return base::error(ErrorCode::unavailable, "Redis at ", read.error().message);
}

std::string StartUp::trouble() {
  if (opened()) return {};
  if (!context().client.up()) {
    const std::string why = context().client.trouble();
    return why.empty() ? address_of(context()) + " is not connected yet" : why;
  }
  const auto open = check();
  return open ? std::string() : open.error().message;
}

void StartUp::replied(const Reply& reply) {
  auto taken = take(reply);
  if (!taken) taken = in_trouble(base::join(address_of(context()), " ", taken.error().message));
  end(std::move(taken));
}

/// Puts the address in place of the message's first word, which is "Redis".
void StartUp::failed(Error error) {
  const std::string_view why = error.message;
  end(in_trouble(address_of(context()) + std::string(why.substr(std::min(why.find(' '), why.size())))));
}

Result<void> StartUp::take(const Reply& reply) {
  if (!reply.is_list() || reply.size() != 7)
    return base::error(ErrorCode::unavailable, "sent a malformed answer");
  auto at = reply.children();
  const Time now = read_time(at);
  const std::string key = context().names.store();
  const std::int64_t format = at.next().integer().value_or(0);
  if (format < least_format || format > newest_format) {
    return base::error(ErrorCode::unavailable, "has in ", base::quoted(key),
                       " what another version of weir wrote; use that one, or another prefix");
  }
  if (!set_lease_key(at.next().text()))
    return base::error(ErrorCode::unavailable, "has a damaged lease key in ", base::quoted(key));
  context().time.learn(now);
  const Time keep = at.next().integer().value_or(store::keep_audit_for_by_default);
  keep_audit_for(keep > 0 ? keep : store::keep_audit_for_by_default);
  take_usage_kept(at);
  return {};
}

void StartUp::take_usage_kept(Reply::Children& at) {
  const store::UsageKept by_default;
  const Time hours = at.next().integer().value_or(0);
  const Time days = at.next().integer().value_or(0);
  keep_usage({.hours = hours > 0 ? hours : by_default.hours, .days = days > 0 ? days : by_default.days});
}

Result<void> StartUp::read_usage_kept() {
  const std::string key = context().names.store();
  auto reply = BlockingCalls(context()).ask(
      key, wire::resp::command({"HMGET", key, "keep_usage_hours", "keep_usage_days"}));
  if (!reply) return reply.error();
  const Reply list = reply->get();
  auto at = list.children();
  take_usage_kept(at);
  return {};
}

}  // namespace weir::redis

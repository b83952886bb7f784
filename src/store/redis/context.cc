#include "store/redis/context.h"

#include <openssl/evp.h>

#include <array>

#include "base/hex.h"
#include "base/text.h"
#include "store/redis/scripts.h"
#include "store/redis/start_up.h"

namespace weir::redis {
namespace {

std::int64_t steady_micros() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

std::string sha1(std::string_view text) {
  std::array<unsigned char, 20> bytes{};
  EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha1(), nullptr);
  return base::hex(bytes);
}

struct Meaning {
  std::string_view begins;
  std::string_view advice;
};

/// The single Script object with this body.
template <const std::string_view& body>
const Script& only() {
  static const Script script(body);
  return script;
}

/// Errors that occur before any write.
constexpr Meaning refusals[] = {
    {"OOM", "it has no memory left; raise maxmemory or make room"},
    {"READONLY", "it is a replica that cannot be written; use the address of the primary"},
    {"NOAUTH", "give a user and a password in the URL"},
    {"WRONGPASS", "check the user and the password in the URL"},
    {"NOPERM", "give its user the rights that docs/redis.md lists"},
    {"LOADING", "it is reading its data and will answer soon"},
    {"BUSY", "another client's script is blocking it; see SCRIPT KILL"},
    {"MASTERDOWN", "it is a replica that has lost its primary"},
    {"CLUSTERDOWN", "part of the cluster is unavailable"},
    {"TRYAGAIN", "the cluster is moving this key"},
    {"MISCONF", "it cannot write its data to the disk; look at its log"},
    {"NOREPLICAS", "it waits for its replicas"},
    {"CROSSSLOT", "it is a node of a cluster; add ?cluster=true to the URL"},
    {"MOVED", "it is a node of a cluster; add ?cluster=true to the URL"},
    {"ERR This instance has cluster support disabled", "it is no cluster; leave cluster=true out of the URL"},
};

}  // namespace

Script::Script(std::string_view text) : body(text), digest(sha1(text)) {
  wire::resp::append_word(named, std::string_view("EVALSHA"));
  wire::resp::append_word(named, digest);
}

const Script& Script::acquire() {
  static const std::string text = base::join("local hold_all\n", acquire_lua);
  static const Script script(text);
  return script;
}
const Script& Script::acquire_concurrent() {
  static const std::string text = base::join(holds_lua, acquire_lua);
  static const Script script(text);
  return script;
}
const Script& Script::load() { return only<load_lua>(); }
const Script& Script::put() { return only<put_lua>(); }
const Script& Script::usage() { return only<usage_lua>(); }
const Script& Script::collect() { return only<collect_lua>(); }
const Script& Script::fold() { return only<fold_lua>(); }
const Script& Script::touch() { return only<touch_lua>(); }
const Script& Script::catalog() { return only<catalog_lua>(); }
const Script& Script::fence() { return only<fence_lua>(); }
const Script& Script::open() { return only<open_lua>(); }
const Script& Script::copy_usage() { return only<copy_usage_lua>(); }

void Context::send(net::RedisCall& call) {
  if (start_up != nullptr && !start_up->opened()) [[unlikely]] {
    const std::string why = start_up->trouble();
    if (!why.empty()) return call.on_failure({false, why});
  }
  client.send(call);
}

store::UsageKept Context::usage_kept() const {
  return start_up == nullptr ? store::UsageKept() : start_up->usage_kept();
}

Time ServerTime::now() const { return instead_ != nullptr ? instead_->now() : offset_.at(steady_micros()); }

Time ServerTime::here() const { return instead_ != nullptr ? instead_->now() : steady_micros() / 1000; }

void ServerTime::learn(Time now) {
  if (instead_ != nullptr) return;
  offset_.learn(now, steady_micros());
  learned_.store(true, std::memory_order_release);
}

Time ServerTime::expected() const {
  if (for_tests()) return instead_->now();
  return learned_.load(std::memory_order_acquire) ? -now() : -1;
}

Error error_of(const net::RedisFailure& failure) {
  if (!failure.sent) {
    return base::error(ErrorCode::unavailable, "Redis is unavailable: ", failure.why,
                       "; nothing was changed, try again later");
  }
  return base::error(ErrorCode::outcome_unknown, "Redis may or may not have done it: ", failure.why);
}

Error error_of(std::string_view reply, bool writes) {
  for (const Meaning& meaning : refusals) {
    if (!reply.starts_with(meaning.begins)) continue;
    return base::error(ErrorCode::unavailable, "Redis refuses (", reply, "): ", meaning.advice);
  }
  // Redis wraps errors of commands inside a script in an ERR reply.
  for (const Meaning& meaning : refusals) {
    if (reply.find(meaning.begins) == std::string_view::npos || !reply.starts_with("ERR")) continue;
    return base::error(ErrorCode::unavailable, "Redis refuses (", reply, "): ", meaning.advice);
  }
  return base::error(writes ? ErrorCode::outcome_unknown : ErrorCode::unavailable,
                     "Redis answers with an error: ", reply);
}

}  // namespace weir::redis

#include "store/redis/state.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "bucket/claims.h"
#include "store/redis/codec.h"

namespace weir::redis {
namespace {

static_assert(std::endian::native == std::endian::little, "doubles are written as they lie in memory");

// Past this many different sets they are hardly shared; forget them rather than grow.
constexpr std::size_t most_sets = 4096;

std::int64_t load_number(const char* at) {
  double number = 0;
  std::memcpy(&number, at, sizeof number);
  // What is no integer of ours is damage, and must not be undefined behaviour here.
  constexpr double bound = 9007199254740992.0 * 4;
  return number >= -bound && number <= bound ? static_cast<std::int64_t>(number) : 0;
}

/// What a bucket's last decision resolved, as far as it is known: nothing is decided with it, but changes to
/// leases can tell which limits were in force.
limits::ResolutionRef last_known(limits::LimitSetRef set, const State& state) {
  auto resolution = base::make_ref<limits::Resolution>();
  resolution->limits = std::move(set);
  resolution->keep_for = from_redis(state.keep_for);
  return limits::ResolutionRef(resolution.get());
}

struct Dormant {
  limits::NamedParameters limit;
  table::Balance balance;
};

/// Brings limits that are not in force to the moment of the bucket's last write, which forgot those that were
/// full by then.
std::vector<Dormant> read_dormant(std::string_view text, Time at, bool& damaged) {
  std::vector<Dormant> all;
  WordReader reader(text);
  while (!reader.at_end() && !reader.failed()) {
    Dormant dormant{read_parameters(reader), {}};
    const std::int64_t tokens = reader.number();
    dormant.balance.consumed = reader.number();
    const Time since = reader.number();
    if (reader.failed() || since < 0) break;
    const limits::Parameters& limit = dormant.limit.parameters;
    dormant.balance.tokens = bucket::claim(limit.rate, limit.burst, since, at).held(tokens);
    if (dormant.balance.tokens < limit.capacity) all.push_back(std::move(dormant));
  }
  damaged = damaged || reader.failed();
  return all;
}

Error damaged(const table::Key& key) {
  return base::error(ErrorCode::unavailable, "the bucket of ", base::quoted(key.entity), " on ",
                     base::quoted(key.resource),
                     " cannot be read; it was written by another version or by hand. Delete its key");
}

}  // namespace

std::int64_t digest_of(std::string_view text) {
  std::array<unsigned char, 32> bytes{};
  EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha256(), nullptr);
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<std::int64_t>(number >> 12U);
}

void append_number(std::string& out, std::int64_t number) {
  const auto as_double = static_cast<double>(number);
  char bytes[sizeof as_double];
  std::memcpy(bytes, &as_double, sizeof as_double);
  out.append(bytes, sizeof bytes);
}

std::int64_t number_at(std::string_view b, std::size_t index) {
  return load_number(b.data() + 8 * (State::words + index));
}

std::optional<State> read_state(std::string_view b) {
  if (b.size() < 8 * State::words || b.size() % 16 != 0) return std::nullopt;
  State state;
  const char* at = b.data();
  for (std::int64_t* number : {&state.refilled_at, &state.expires_at, &state.kept_until, &state.version,
                               &state.stamp, &state.generation, &state.digest, &state.hold}) {
    *number = load_number(at);
    at += 8;
  }
  if (state.refilled_at < 0) return std::nullopt;
  state.limits = (b.size() / 8 - State::words) / 2;
  return state;
}

std::shared_ptr<const SetInPlan> SetsInPlan::get(const limits::LimitSetRef& set) {
  const base::Guard guard(mutex_);
  if (const auto known = sets_.find(set.get()); known != sets_.end()) return known->second;
  auto made = std::make_shared<SetInPlan>();
  made->set = set;
  made->text = encode(*set);
  made->digest = digest_of(made->text);
  for (std::size_t i = 0; i < set->size(); ++i) {
    const limits::Parameters& limit = (*set)[i];
    for (const std::int64_t number : {limit.burst, limit.rate.amount, limit.rate.period})
      append_number(made->parameters, number);
  }
  if (sets_.size() >= most_sets) sets_.clear();
  return sets_[set.get()] = made;
}

Result<Found> read_bucket(const Reply& hash, const table::Key& key) {
  Found found;
  if (!hash.is_list() || hash.size() == 0) return found;
  std::string_view p;
  std::string_view d;
  Time keep_for = 0;
  std::array<std::int64_t, bucket::max_limits_kept + 1> rounds{};
  for (auto at = hash.children(); !at.at_end();) {
    const std::string_view name = at.next().text();
    const Reply value = at.next();
    if (name == "b") found.raw = value.text();
    if (name == "p") p = value.text();
    if (name == "d") d = value.text();
    if (name == "k") keep_for = value.integer().value_or(0);
    if (!name.starts_with('o')) continue;
    const auto limit = base::parse_digits(name.substr(1));
    if (limit && *limit < static_cast<std::int64_t>(rounds.size()))
      rounds[static_cast<std::size_t>(*limit)] = value.integer().value_or(0);
  }
  const auto state = read_state(found.raw);
  auto in_force = decode_set(p);
  if (!state || !in_force || (*in_force)->size() != state->limits) return damaged(key);
  found.state = *state;
  found.state.keep_for = keep_for;
  bool wrong = false;
  const std::vector<Dormant> dormant = read_dormant(d, state->refilled_at, wrong);
  if (wrong) return damaged(key);

  std::vector<limits::NamedParameters> named;
  for (std::size_t i = 0; i < (*in_force)->size(); ++i)
    named.push_back({std::string((*in_force)->name(i)), (**in_force)[i]});
  for (const Dormant& limit : dormant) named.push_back(limit.limit);
  const limits::LimitSetRef all =
      dormant.empty() ? *in_force : limits::LimitSetRef(new limits::LimitSet(std::move(named)));
  table::RecordPtr record(table::Record::make(key, all));
  for (std::size_t i = 0; i < (*in_force)->size(); ++i) {
    const int at = all->find((*in_force)->name(i));
    record->balances()[at] = {number_at(found.raw, 2 * i),
                              number_at(found.raw, 2 * i + 1) + rounds[i + 1] * round_of_counter};
  }
  for (const Dormant& limit : dormant) {
    const int at = all->find(limit.limit.name);
    record->balances()[at] = limit.balance;
    record->dormant |= std::uint32_t{1} << static_cast<unsigned>(at);
  }
  record->resolution = last_known(*in_force, found.state);
  record->refilled_at = state->refilled_at;
  record->expires_at = from_redis(state->expires_at);
  record->version = state->version;
  record->generation = static_cast<std::uint64_t>(state->generation);
  record->stored = true;
  found.record = std::move(record);
  return found;
}

Written write_bucket(const table::Record& record, const State& before) {
  Written written{.entity = std::string(record.entity()),
                  .resource = std::string(record.resource()),
                  .expires_at = record.expires_at};
  const limits::LimitSet& all = *record.limits;
  const limits::LimitSet& in_force = *record.resolution->limits;
  std::string balances;
  Words dormant;
  Time hold = 0;
  Words parameters;
  std::size_t position = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const table::Balance& balance = record.balances()[i];
    const limits::Parameters& limit = all[i];
    if (in_force.find(all.name(i)) < 0) {
      append(dormant, all.name(i), limit);
      dormant.number(balance.tokens).number(balance.consumed).number(record.refilled_at);
      hold = std::max(
          hold, bucket::moment_granted(limit.rate, record.refilled_at, limit.capacity - balance.tokens));
      continue;
    }
    append(parameters, all.name(i), limit);
    ++position;
    // Rounded down, so that what is left is never negative.
    const std::int64_t rounds = balance.consumed >> 52U;
    append_number(balances, balance.tokens);
    append_number(balances, balance.consumed - rounds * round_of_counter);
    if (rounds != 0) written.rounds += base::join(std::to_string(position), "=", std::to_string(rounds), " ");
  }
  written.p = std::move(parameters.str());
  written.d = std::move(dormant.str());
  const Time keep_for = to_redis(record.resolution->keep_for);
  written.keep_for = keep_for;
  const Time expires_at = to_redis(record.expires_at);
  Time kept_until = never_in_redis;
  if (expires_at != never_in_redis) {
    const Time longer = keep_for == never_in_redis ? 0 : keep_for / 8;
    kept_until = to_redis(base::saturating_add(expires_at, longer + 1000));
    if (kept_until != never_in_redis) written.stays = std::max<Time>(kept_until - record.refilled_at, 1);
  }
  const Time stamp = std::max({before.stamp, record.resolution->stamp});
  for (const std::int64_t number :
       {record.refilled_at, expires_at, kept_until, record.version, stamp,
        static_cast<std::int64_t>(record.generation), digest_of(written.p), to_redis(hold)})
    append_number(written.b, number);
  written.b += balances;
  return written;
}

}  // namespace weir::redis

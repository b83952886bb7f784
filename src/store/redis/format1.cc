#include "store/redis/format1.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bucket/refill.h"
#include "store/redis/codec.h"

namespace weir::redis {
namespace {

constexpr std::size_t words_before_limits = 8;
/// The counter has 64 bits.
constexpr std::int64_t most_rounds = (1 << 11) - 1;

/// The fields of the hash.
struct Fields {
  std::string_view b, p, d;
  std::array<std::int64_t, bucket::max_limits_kept + 1> rounds{};
};

Fields fields_of(const Reply& hash) {
  Fields fields;
  for (auto at = hash.children(); !at.at_end();) {
    const std::string_view name = at.next().text();
    const Reply value = at.next();
    if (name == "b") fields.b = value.text();
    if (name == "p") fields.p = value.text();
    if (name == "d") fields.d = value.text();
    if (!name.starts_with('o')) continue;
    const auto limit = base::parse_digits(name.substr(1));
    if (limit && *limit < static_cast<std::int64_t>(fields.rounds.size()))
      fields.rounds[static_cast<std::size_t>(*limit)] =
          std::clamp<std::int64_t>(value.integer().value_or(0), 0, most_rounds);
  }
  return fields;
}

}  // namespace

std::vector<bucket::LimitState> read_dormant(WordReader reader, Time at, bool& wrong) {
  std::vector<bucket::LimitState> all;
  while (!reader.at_end() && !reader.failed()) {
    limits::NamedParameters named = read_parameters(reader);
    const std::int64_t tokens = reader.number();
    const std::int64_t consumed = reader.number();
    const Time since = reader.number();
    if (reader.failed() || since < 0) break;
    const limits::Parameters& limit = named.parameters;
    const std::int64_t held = bucket::claim(limit.rate, limit.burst, since, at).held(tokens);
    all.push_back({std::move(named.name), limit, held, consumed, true});
  }
  wrong = wrong || !reader.done();
  return all;
}

bool read_format1(const Reply& hash, ReadBucket& read) {
  if (hash.size() == 0) return true;
  const Fields fields = fields_of(hash);
  const std::string_view b = fields.b;
  const auto set = decode_set(fields.p);
  if (b.size() < 8 * words_before_limits || b.size() % 16 != 0 || !set) return false;
  if ((*set)->size() != (b.size() / 8 - words_before_limits) / 2) return false;
  read.raw = b;
  StoredBucket& bucket = read.bucket.emplace();
  bucket::State& state = bucket.state;
  state.refilled_at = number_at(b, 0);
  state.expires_at = from_redis(number_at(b, 1));
  state.version = number_at(b, 3);
  bucket.stamp = number_at(b, 4);
  state.generation = static_cast<std::uint64_t>(number_at(b, 5));
  for (std::size_t i = 0; i < (*set)->size(); ++i) {
    const std::size_t at = words_before_limits + 2 * i;
    state.limits.push_back(
        {std::string((*set)->name(i)), (**set)[i], number_at(b, at),
         base::wrapping_add(number_at(b, at + 1), fields.rounds[i + 1] * round_of_counter)});
  }
  bool wrong = state.refilled_at < 0;
  if (wrong) return false;
  for (bucket::LimitState& limit : read_dormant(WordReader(fields.d), state.refilled_at, wrong))
    state.limits.push_back(std::move(limit));
  return !wrong && bucket.stamp >= 0 && bucket::can_be_used(state);
}

}  // namespace weir::redis

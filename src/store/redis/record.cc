#include "store/redis/record.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/maxima.h"
#include "base/text.h"
#include "bucket/refill.h"
#include "store/redis/codec.h"
#include "store/redis/format1.h"
#include "store/redis/usage_codec.h"

namespace weir::redis {
namespace {

static_assert(std::endian::native == std::endian::little, "doubles are written as they lie in memory");

// With more distinct sets than this, few are shared: the cache is cleared instead of growing.
constexpr std::size_t most_sets = 4096;

/// The positions of the numbers in a record.
struct Word {
  enum : std::uint8_t {
    head,
    kept_until,
    version,
    stamp,
    digest,
    hold,
    plain_until,
    generation,
    refilled_at,
    expires_at,
    first_limit
  };
};

Error damaged(std::string_view entity, std::string_view resource) {
  return base::error(ErrorCode::unavailable, "the bucket of ", base::quoted(entity), " on ",
                     base::quoted(resource),
                     " cannot be read; it was written by another version or by hand. Delete its key");
}

Error too_new(std::string_view entity, std::string_view resource) {
  return base::error(ErrorCode::unavailable, "the bucket of ", base::quoted(entity), " on ",
                     base::quoted(resource), " was written by a later version of weir; use that one");
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

void read_rounds(WordReader reader, std::vector<bucket::LimitState>& limits, bool& wrong) {
  while (!reader.at_end() && !reader.failed()) {
    const auto limit = static_cast<std::size_t>(reader.number());
    const std::int64_t rounds = reader.number();
    // The counter has 64 bits.
    constexpr std::int64_t most_counter_rounds = 1 << 11;
    if (reader.failed() || limit >= limits.size() || rounds < -most_counter_rounds ||
        rounds > most_counter_rounds)
      reader.fail();
    if (reader.failed()) break;
    limits[limit].consumed = base::wrapping_add(limits[limit].consumed, rounds * round_of_counter);
  }
  wrong = wrong || !reader.done();
}

/// The list of a line `!holds` or `!grants`; null where it cannot be read.
bucket::LimitState* read_list(WordReader reader, std::vector<bucket::LimitState>& limits,
                              bucket::Holds& list) {
  const std::string_view name = reader.name();
  while (!reader.at_end() && !reader.failed() && list.size() <= maxima::holds) {
    const Time deadline = reader.number();
    list.push_back({deadline, reader.number()});
  }
  const auto limit =
      std::find_if(limits.begin(), limits.end(), [&](const auto& one) { return one.name == name; });
  return reader.done() && limit != limits.end() ? &*limit : nullptr;
}

/// One line for each concurrent limit of which something is held: its name, deadlines and amounts.
void read_holds(const WordReader& reader, std::vector<bucket::LimitState>& limits, bool& wrong) {
  bucket::Holds list;
  bucket::LimitState* const limit = read_list(reader, limits, list);
  wrong = wrong || limit == nullptr;
  if (!wrong) limit->holds = std::move(list);
}

/// The same for each rate limit that has grants: their ends and amounts.
void read_grants(const WordReader& reader, std::vector<bucket::LimitState>& limits, bool& wrong) {
  bucket::Grants list;
  bucket::LimitState* const limit = read_list(reader, limits, list);
  wrong = wrong || limit == nullptr;
  if (!wrong) limit->grants = std::move(list);
}

/// The text of a record, after its numbers. `events`: those of the open segment; nothing: there is none.
enum class Text : std::uint8_t { good, damaged, too_new };
Text read_text(std::string_view text, StoredBucket& bucket, std::optional<std::int64_t> events) {
  bool wrong = false;
  const auto set = decode_set(next_line(text));
  if (!set || (*set)->size() != bucket.state.limits.size()) return Text::damaged;
  for (std::size_t i = 0; i < (*set)->size(); ++i) {
    bucket.state.limits[i].name = (*set)->name(i);
    bucket.state.limits[i].parameters = (**set)[i];
  }
  std::vector<bucket::LimitState> dormant;
  std::vector<WordReader> holds;
  std::vector<WordReader> grants;
  std::optional<WordReader> usage;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::string_view name = line.substr(0, line.find(' '));
    const WordReader words(line.substr(std::min(line.size(), name.size() + 1)));
    if (name == "dormant") {
      dormant = read_dormant(words, bucket.state.refilled_at, wrong);
    } else if (name == "rounds") {
      read_rounds(words, bucket.state.limits, wrong);
    } else if (name == "usage" && events) {
      usage = words;
    } else if (name == "!holds") {
      holds.push_back(words);
    } else if (name == "!grants") {
      grants.push_back(words);
    } else if (name.starts_with('!')) {
      return Text::too_new;
    } else {
      bucket.others.emplace_back(line);
    }
  }
  std::move(dormant.begin(), dormant.end(), std::back_inserter(bucket.state.limits));
  for (const WordReader& words : holds) read_holds(words, bucket.state.limits, wrong);
  for (const WordReader& words : grants) read_grants(words, bucket.state.limits, wrong);
  if (usage) bucket.segment = read_open(*usage, *events, bucket.state.limits);
  wrong = wrong || bucket.segment.has_value() != events.has_value();
  wrong = wrong || !bucket::can_be_used(bucket.state) || bucket.stamp < 0;
  return wrong ? Text::damaged : Text::good;
}

/// Until when acquire.lua may charge a bucket: at most until a dormant limit is full and is dropped, or the
/// hour of its usage is over. Negative if the bucket has concurrent limits: then the script also writes what
/// is held of them. With dormant limits the expiry of a debt depends on both, so C++ decides that case,
/// dormant concurrent limits, and grants.
Time plain_until_of(const StoredBucket& bucket) {
  const bucket::State& state = bucket.state;
  Time until = limits::never;
  bool any_dormant = false;
  bool in_debt = false;
  bool any_concurrent = false;
  for (const bucket::LimitState& limit : state.limits) {
    const bool concurrent = limit.parameters.kind() == Kind::concurrent;
    if (!limit.grants.empty() || (concurrent && limit.dormant)) return 0;
    any_concurrent = any_concurrent || concurrent;
    in_debt = in_debt || limit.tokens < 0;
    if (!limit.dormant) continue;
    any_dormant = true;
    until = std::min(until, bucket::moment_granted(limit.parameters.rate, state.refilled_at,
                                                   limit.parameters.capacity - limit.tokens));
  }
  if (bucket.segment) until = std::min(until, bucket.segment->hour + usage::hour);
  if (any_dormant && in_debt) return 0;
  return any_concurrent ? -to_redis(until) : to_redis(until);
}

/// The limits in force, by name as in a LimitSet, which is the order of a plan.
std::vector<const bucket::LimitState*> in_force(const bucket::State& state) {
  std::vector<const bucket::LimitState*> limits;
  for (const bucket::LimitState& limit : state.limits) {
    if (!limit.dormant) limits.push_back(&limit);
  }
  std::sort(limits.begin(), limits.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return limits;
}

/// An optional field of the record: the name of a limit, and its list.
void append_list(std::string& bytes, std::string_view field, std::string_view limit,
                 std::span<const bucket::Hold> list) {
  if (list.empty()) return;
  Words words;
  words.name(limit);
  for (const bucket::Hold& one : list) words.number(one.deadline).number(one.amount);
  bytes += base::join(field, words.str());
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

std::int64_t number_at(std::string_view numbers, std::size_t index) {
  double number = 0;
  std::memcpy(&number, numbers.data() + 8 * index, sizeof number);
  // A number out of range means a damaged record, and must not cause undefined behaviour here.
  constexpr double bound = 9007199254740992.0 * 4;
  return number >= -bound && number <= bound ? static_cast<std::int64_t>(number) : 0;
}

std::optional<Charged> take_charged(std::string_view& answer, std::size_t limits, bool counts) {
  const std::size_t size = 8 * (Charged::words + 2 * limits + (counts ? 1 : 0));
  if (answer.size() < size) return std::nullopt;
  Charged charged;
  charged.numbers = answer.substr(0, size);
  charged.generation = static_cast<std::uint64_t>(number_at(answer, 0));
  charged.refilled_at = number_at(answer, 1);
  answer.remove_prefix(size);
  return charged;
}

std::string joined_numbers(Reply::Children texts) {
  std::string numbers;
  while (!texts.at_end()) numbers += texts.next().text();
  return numbers;
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

Result<ReadBucket> read_bucket(const Reply& reply, std::string_view entity, std::string_view resource) {
  ReadBucket read;
  if (reply.is_list()) {
    if (!read_format1(reply, read)) return damaged(entity, resource);
    return read;
  }
  return reply.is_text() ? read_bucket(reply.text(), entity, resource) : read;
}

Result<ReadBucket> read_bucket(std::string_view text, std::string_view entity, std::string_view resource) {
  ReadBucket read;
  read.raw = text;
  if (text.size() < std::size_t{8} * (Word::first_limit + 2)) return damaged(entity, resource);
  const std::int64_t format = number_at(text, Word::head) / 256;
  const auto limits = static_cast<std::size_t>(number_at(text, Word::head) % 256);
  if (format > 3) return too_new(entity, resource);
  const bool counts = format == 3;
  const std::size_t numbers = 8 * (Word::first_limit + 2 * limits + (counts ? 1 : 0));
  if (format < 2 || limits == 0 || text.size() < numbers) return damaged(entity, resource);
  // Every reader below computes with it.
  if (number_at(text, Word::refilled_at) < 0) return damaged(entity, resource);
  StoredBucket& bucket = read.bucket.emplace();
  bucket.stamp = number_at(text, Word::stamp);
  bucket.state.version = number_at(text, Word::version);
  bucket.state.generation = static_cast<std::uint64_t>(number_at(text, Word::generation));
  bucket.state.refilled_at = number_at(text, Word::refilled_at);
  bucket.state.expires_at = from_redis(number_at(text, Word::expires_at));
  for (std::size_t i = 0; i < limits; ++i) {
    bucket.state.limits.push_back(
        {{}, {}, number_at(text, Word::first_limit + 2 * i), number_at(text, Word::first_limit + 2 * i + 1)});
  }
  std::optional<std::int64_t> events;
  if (counts) events = number_at(text, Word::first_limit + 2 * limits);
  const Text rest = read_text(text.substr(numbers), bucket, events);
  if (rest == Text::too_new) return too_new(entity, resource);
  if (rest == Text::damaged) return damaged(entity, resource);
  return read;
}

Result<LoadedBuckets> load_buckets(Context& context, std::string_view name_space, std::string_view family,
                                   std::string_view entity, const std::vector<std::string>& resources) {
  LoadedBuckets loaded;
  if (resources.empty()) return loaded;
  std::vector<std::string> keys;
  for (const std::string& resource : resources)
    keys.push_back(context.names.bucket(name_space, family, entity, resource));
  auto reply = BlockingCalls(context).run(Script::load(), keys,
                                          {std::to_string(context.time.for_scripts()), "0"}, false);
  if (!reply) return reply.error();
  const Reply list = reply->get();
  auto at = list.children();
  at.next();
  loaded.now = at.next().integer().value_or(0);
  for (const std::string& resource : resources) {
    auto read = read_bucket(at.next(), entity, resource);
    if (!read) {
      context.bad.report(read.error().message);
      loaded.buckets.push_back({.raw = {}, .bucket = {}, .bad = true});
      continue;
    }
    loaded.buckets.push_back(*std::move(read));
  }
  return loaded;
}

Record encode(const StoredBucket& bucket, bool collected) {
  const bucket::State& state = bucket.state;
  std::vector<const bucket::LimitState*> limits = in_force(state);
  std::string balances;
  Words parameters;
  Words rounds;
  Words dormant;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    append(parameters, limits[i]->name, limits[i]->parameters);
    // Rounded down, so that the remainder is never negative.
    const std::int64_t times = limits[i]->consumed >> 52U;
    append_number(balances, limits[i]->tokens);
    append_number(balances, limits[i]->consumed - times * round_of_counter);
    if (times != 0) rounds.number(static_cast<std::int64_t>(i)).number(times);
  }
  for (const bucket::LimitState& limit : state.limits) {
    if (!limit.dormant) continue;
    append(dormant, limit.name, limit.parameters);
    dormant.number(limit.tokens).number(limit.consumed).number(state.refilled_at);
  }
  const bool any_dormant = !dormant.str().empty();
  const bool expires = state.expires_at < never_in_redis;
  const Time stays = expires ? state.expires_at - state.refilled_at : 0;
  Record record;
  record.kept_until =
      expires ? to_redis(base::saturating_add(state.expires_at, stays / 8 + 1000)) : never_in_redis;
  if (bucket.segment && !collected) {
    record.kept_until =
        std::max(record.kept_until, to_redis(bucket.segment->hour + usage::hour + segment_stays));
  }
  const std::int64_t head = head_of(limits.size()) + (bucket.segment ? counting_head : 0);
  for (const std::int64_t number :
       {head, record.kept_until, state.version, bucket.stamp, digest_of(parameters.str()),
        any_dormant ? stays : 0, plain_until_of(bucket), static_cast<std::int64_t>(state.generation),
        state.refilled_at, to_redis(state.expires_at)})
    append_number(record.bytes, number);
  record.bytes += balances;
  if (bucket.segment) append_number(record.bytes, bucket.segment->events);
  record.bytes += parameters.str();
  if (any_dormant) record.bytes += "\ndormant " + dormant.str();
  if (!rounds.str().empty()) record.bytes += "\nrounds " + rounds.str();
  if (bucket.segment) {
    for (const bucket::LimitState& limit : state.limits) {
      if (limit.dormant) limits.push_back(&limit);
    }
    record.bytes += "\nusage " + encode_open(*bucket.segment, limits);
  }
  for (const bucket::LimitState& limit : state.limits) {
    append_list(record.bytes, "\n!holds ", limit.name, limit.holds);
    append_list(record.bytes, "\n!grants ", limit.name, limit.grants);
  }
  for (const std::string& other : bucket.others) record.bytes += "\n" + other;
  return record;
}

}  // namespace weir::redis

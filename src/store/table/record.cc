#include "store/table/record.h"

#include <algorithm>
#include <new>

#include "base/wide.h"

namespace weir::table {

Record* Record::make(const Key& key, limits::LimitSetRef limits, std::string_view holds) {
  const std::size_t count = limits->size();
  const std::size_t key_size = key.entity.size() + key.resource.size() + key.name_space.size();
  void* const block = ::operator new(sizeof(Record) + count * sizeof(Balance) + key_size + holds.size());
  auto* const record = new (block) Record();
  record->limits = std::move(limits);
  record->limit_count = static_cast<std::uint8_t>(count);
  record->entity_size = static_cast<std::uint16_t>(key.entity.size());
  record->resource_size = static_cast<std::uint8_t>(key.resource.size());
  record->name_space_size = static_cast<std::uint8_t>(key.name_space.size());
  record->holds_size = static_cast<std::uint16_t>(holds.size());
  char* text = reinterpret_cast<char*>(record->balances() + count);
  for (const std::string_view part : {key.entity, key.resource, key.name_space, holds}) {
    std::memcpy(text, part.data(), part.size());
    text += part.size();
  }
  return record;
}

void Record::destroy(Record* record) {
  record->~Record();
  ::operator delete(record);
}

std::string_view take_sized(std::string_view& holds) {
  const std::size_t size =
      static_cast<unsigned char>(holds[0]) + 256 * std::size_t{static_cast<unsigned char>(holds[1])};
  const std::string_view one = holds.substr(2, size);
  holds.remove_prefix(2 + size);
  return one;
}

void append_sized(std::string& holds, std::string_view one) {
  holds += static_cast<char>(one.size() % 256);
  holds += static_cast<char>(one.size() / 256);
  holds += one;
}

bucket::State state_of(const Record& record) {
  bucket::State state{record.refilled_at, record.version, record.generation, record.expires_at, {}};
  std::string_view holds = record.holds();
  for (std::size_t i = 0; i < record.limits->size(); ++i) {
    const Balance& balance = record.balances()[i];
    state.limits.push_back({std::string(record.limits->name(i)), (*record.limits)[i], balance.tokens,
                            balance.consumed, (record.dormant >> i & 1U) != 0});
    if (record.holds_size == 0) continue;
    const bool concurrent = (record.limits->concurrent() >> i & 1U) != 0;
    bucket::LimitState& limit = state.limits.back();
    (concurrent ? limit.holds : limit.grants) = *bucket::decode_holds(take_sized(holds));
  }
  return state;
}

std::optional<usage::Segment> segment_of(const Record& record) {
  if (!record.counts_usage()) return std::nullopt;
  usage::Segment segment{.hour = record.hour, .id = record.segment, .events = record.events};
  for (std::size_t i = 0; i < record.limit_count; ++i) {
    const Balance& balance = record.balances()[i];
    const std::int64_t amount = base::wrapping_sub(balance.consumed, balance.counted);
    if (amount != 0) segment.amounts.push_back({std::string(record.limits->name(i)), amount});
  }
  return segment;
}

void set_segment(Record& record, const std::optional<usage::Segment>& segment) {
  if (!segment) {
    record.hour = 0;
    record.hour_length = Record::not_counting;
    return;
  }
  record.hour = segment->hour;
  record.hour_length = usage::hour;
  record.segment = segment->id;
  record.events = static_cast<std::uint32_t>(segment->events);
  for (std::size_t i = 0; i < record.limit_count; ++i)
    record.balances()[i].counted = record.balances()[i].consumed;
  for (const usage::Used& used : segment->amounts) {
    Balance& balance = record.balances()[record.limits->find(used.limit)];
    balance.counted = base::wrapping_sub(balance.consumed, used.amount);
  }
}

namespace {

bool has_grants(const bucket::State& state) {
  return std::any_of(state.limits.begin(), state.limits.end(),
                     [](const bucket::LimitState& limit) { return !limit.grants.empty(); });
}

/// The set of a state's limits. All limits in force are in the state, so the same number means that there are
/// no others.
limits::LimitSetRef set_of(const bucket::State& state, const limits::LimitSetRef& in_force) {
  if (state.limits.size() == in_force->size() && can_be_shared(*in_force) && !has_grants(state))
    return in_force;
  std::vector<limits::NamedParameters> named;
  for (const bucket::LimitState& limit : state.limits) named.push_back({limit.name, limit.parameters});
  return limits::LimitSetRef(new limits::LimitSet(std::move(named)));
}

std::string holds_of(const bucket::State& state, const limits::LimitSet& set) {
  std::string holds;
  if (set.concurrent() == 0 && !has_grants(state)) return holds;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bucket::LimitState& limit = *state.find(set.name(i));
    append_sized(holds, bucket::encode((set.concurrent() >> i & 1U) != 0 ? limit.holds : limit.grants));
  }
  return holds;
}

}  // namespace

Record* record_of(const Key& key, const bucket::State& state, limits::ResolutionRef resolution) {
  limits::LimitSetRef set = set_of(state, resolution->limits);
  const std::string holds = holds_of(state, *set);
  Record* const record = Record::make(key, std::move(set), holds);
  record->refilled_at = state.refilled_at;
  record->version = state.version;
  record->generation = state.generation;
  record->expires_at = state.expires_at;
  for (std::size_t i = 0; i < record->limits->size(); ++i) {
    const bucket::LimitState* const limit = state.find(record->limits->name(i));
    record->balances()[i] = {limit->tokens, limit->consumed, limit->consumed};
    record->dormant |= std::uint32_t{limit->dormant} << i;
  }
  record->resolution = std::move(resolution);
  return record;
}

}  // namespace weir::table

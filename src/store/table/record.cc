#include "store/table/record.h"

#include <new>

namespace weir::table {

Record* Record::make(const Key& key, limits::LimitSetRef limits) {
  const std::size_t count = limits->size();
  const std::size_t key_size = key.entity.size() + key.resource.size() + key.name_space.size();
  void* const block = ::operator new(sizeof(Record) + count * sizeof(Balance) + key_size);
  auto* const record = new (block) Record();
  record->limits = std::move(limits);
  record->limit_count = static_cast<std::uint8_t>(count);
  record->entity_size = static_cast<std::uint16_t>(key.entity.size());
  record->resource_size = static_cast<std::uint8_t>(key.resource.size());
  record->name_space_size = static_cast<std::uint8_t>(key.name_space.size());
  char* text = reinterpret_cast<char*>(record->balances() + count);
  for (const std::string_view part : {key.entity, key.resource, key.name_space}) {
    std::memcpy(text, part.data(), part.size());
    text += part.size();
  }
  return record;
}

void Record::destroy(Record* record) {
  record->~Record();
  ::operator delete(record);
}

bucket::State state_of(const Record& record) {
  bucket::State state{record.refilled_at, record.version, record.generation, record.expires_at, {}};
  for (std::size_t i = 0; i < record.limits->size(); ++i) {
    const Balance& balance = record.balances()[i];
    state.limits.push_back(
        {std::string(record.limits->name(i)), (*record.limits)[i], balance.tokens, balance.consumed});
  }
  return state;
}

Record* record_of(const Key& key, const bucket::State& state, limits::LimitSetRef limits) {
  Record* const record = Record::make(key, std::move(limits));
  record->refilled_at = state.refilled_at;
  record->version = state.version;
  record->generation = state.generation;
  record->expires_at = state.expires_at;
  for (std::size_t i = 0; i < record->limits->size(); ++i) {
    const bucket::LimitState* const limit = state.find(record->limits->name(i));
    record->balances()[i] = {limit->tokens, limit->consumed};
  }
  return record;
}

}  // namespace weir::table

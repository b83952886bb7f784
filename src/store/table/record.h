// A bucket in memory: one block of about 100 bytes and its key.
//
//     | Record: times, version, generation, resolution | balances of limits | entity resource namespace |
//     holds |
//
// Parameters and names of limits are not in it: they are shared with every other bucket under the same
// limits. A change of the set of limits makes a new block.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "bucket/state.h"
#include "limits/limit_set.h"
#include "limits/resolution.h"
#include "usage/segment.h"

namespace weir::table {

/// The key of a bucket.
struct Key {
  std::string_view name_space;
  std::string_view entity;
  std::string_view resource;
};

struct Balance {
  std::int64_t tokens;
  std::int64_t consumed;
  std::int64_t counted;  ///< `consumed` when the open segment of usage began
};

struct Record {
  Time refilled_at = 0;
  std::int64_t version = 0;
  Time expires_at = limits::never;
  std::uint64_t generation = 0;
  /// The resolution of the last decision, for the next one: valid until the catalog changes or it expires.
  limits::ResolutionRef resolution;
  /// The limits in the order of the balances. The same set as the resolution's, unless the bucket has not
  /// followed a change yet or holds dormant limits.
  limits::LimitSetRef limits;
  std::uint16_t entity_size = 0;
  std::uint8_t resource_size = 0;
  std::uint8_t name_space_size = 0;
  std::uint8_t limit_count = 0;
  bool dirty = false;            ///< changed since the last capture for the backing
  bool stored = false;           ///< the backing has the bucket, or it was captured
  std::uint32_t dormant = 0;     ///< bit i: the i-th limit was not in force when the record was last written
  std::uint16_t holds_size = 0;  ///< bytes of holds()

  /// The open segment of usage (usage/segment.h). It can count a charge from `hour` on, for `hour_length`.
  Time hour = 0;
  std::uint64_t hour_length = not_counting;
  std::uint64_t segment = 0;  ///< its id
  std::uint32_t events = 0;

  static constexpr std::uint64_t not_counting = ~std::uint64_t{0};
  bool counts_usage() const { return hour_length != not_counting; }
  /// Whether the open segment goes on at this moment. Always, if usage is not counted.
  bool goes_on(Time now) const { return static_cast<std::uint64_t>(now - hour) < hour_length; }

  /// `holds`: see holds().
  static Record* make(const Key& key, limits::LimitSetRef limits, std::string_view holds = "");
  static void destroy(Record* record);

  Balance* balances() { return reinterpret_cast<Balance*>(this + 1); }
  const Balance* balances() const { return reinterpret_cast<const Balance*>(this + 1); }
  std::string_view entity() const { return {key_text(), entity_size}; }
  std::string_view resource() const { return {key_text() + entity_size, resource_size}; }
  std::string_view entity_and_resource() const {
    return {key_text(), std::size_t{entity_size} + resource_size};
  }
  std::string_view name_space() const { return {key_text() + entity_size + resource_size, name_space_size}; }

  /// The holds or grants of each limit, as a length of two bytes and its stored form, in the order of
  /// the balances. Empty where no limit is concurrent and none has grants.
  std::string_view holds() const { return {name_space().data() + name_space_size, holds_size}; }

  bool is(const Key& key) const {
    return base::same(entity(), key.entity) && base::same(resource(), key.resource) &&
           base::same(name_space(), key.name_space);
  }
  bool belongs_to(std::string_view in, std::string_view whose) const {
    return entity() == whose && name_space() == in;
  }

 private:
  Record() = default;
  ~Record() = default;
  const char* key_text() const { return reinterpret_cast<const char*>(balances() + limit_count); }
};

struct Destroy {
  void operator()(Record* record) const { Record::destroy(record); }
};
using RecordPtr = std::unique_ptr<Record, Destroy>;

/// Whether a record may share the set of its resolution, if it has no grants. The fast path decides only
/// records that do, so it never meets a limit that is off or concurrent, or has grants.
inline bool can_be_shared(const limits::LimitSet& set) { return (set.off() | set.concurrent()) == 0; }

/// Takes the next list from Record::holds().
std::string_view take_sized(std::string_view& holds);
/// Appends a list for Record::make().
void append_sized(std::string& holds, std::string_view one);

/// Converts a record to the form of the general arithmetic, and back. `resolution`: of the decision that made
/// the state; its set of limits is shared where the state has no others.
bucket::State state_of(const Record& record);
/// The open segment of usage; nothing: the record does not count it.
std::optional<usage::Segment> segment_of(const Record& record);
void set_segment(Record& record, const std::optional<usage::Segment>& segment);
Record* record_of(const Key& key, const bucket::State& state, limits::ResolutionRef resolution);

}  // namespace weir::table

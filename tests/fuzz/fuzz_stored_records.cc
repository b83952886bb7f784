// Items and rows of stores, through the readers that decisions use. The first byte chooses a reader and a
// valid record; the rest says which parts of the record are replaced by what.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "limits/resolution.h"
#include "store/audit.h"
#include "store/bucket_of.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/legacy.h"
#include "store/redis/codec.h"
#include "store/redis/record.h"
#include "store/remote/catalog.h"
#include "store/sqlite/codec.h"

namespace {

constexpr int most_changes = 200;

using namespace weir;

/// Takes bytes from the input, zeros at its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : data_[at_++]; }
  std::int64_t number() {
    std::int64_t number = 0;
    // Few bytes for small numbers, so that a change of one byte changes them.
    for (int left = byte() % 9; left > 0; --left)
      number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << 8U | byte());
    return byte() % 2 == 0 ? number : -number / 2;
  }
  std::string text() {
    std::string text;
    for (int left = byte() % 40; left > 0; --left) text += static_cast<char>(byte());
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// Uses a record as decisions and listings do.
void use(const limits::LimitsRecordRef& record) {
  if (!record) return;
  const auto next = limits::next_record(record, record->current.limits, 1'700'000'000'000, 1'700'000'000'000);
  if (record->current.limits) (void)record->current.limits->limits();
  (void)store::to_json(limits::LimitsRecordRef(next.get()));
  limits::Levels levels;
  levels[0] = limits::LimitsRecordRef(next.get());
  const auto resolution = limits::resolve(levels, {}, 1'700'000'000'000, 7);
  (void)resolution->missed_since(0);
}
void use(const bucket::State& state) { (void)store::bucket_of("entity", "resource", state); }

limits::LimitSetRef some_set() {
  return limits::stored_set({{"rpm", *limits::stored_parameters(100'000, 150'000, 100'000, 60'000)},
                             {"tpm", *limits::stored_parameters(5'500, 5'500, 1'001, 7)}},
                            16);
}
limits::LimitsRecord some_record() {
  limits::LimitsRecord record;
  record.current = {1'700'000'000'000, some_set(), false};
  record.earlier = {{1'600'000'000'000, some_set(), true}, {1'500'000'000'000, {}, false}};
  record.bucket_ttl_refill_multiplier = 7;
  record.usage = false;
  return record;
}
limits::PlanRecord some_plan() {
  limits::PlanRecord plan;
  plan.limits = limits::LimitsRecordRef(new limits::LimitsRecord(some_record()));
  plan.resources["r"] = plan.limits;
  return plan;
}
bucket::State some_state() {
  bucket::State state{1'700'000'000'000, 1'600'000'000'000, 7, 1'800'000'000'000, {}};
  const limits::LimitSetRef set = some_set();
  state.limits.push_back({"rpm", (*set)[0], 90'000, 10'000, false});
  state.limits.push_back({"tpm", (*set)[1], -5, 10'000, true});
  return state;
}
decision::LeaseRecord some_lease() { return {decision::Ending::open, {{"rpm", 1000, 3}}, {"first"}}; }

/// Replaces attributes, at any depth.
void change(std::vector<dynamodb::Attribute>& members, Input& in, int depth);
void change(dynamodb::Value& value, Input& in, int depth) {
  using dynamodb::Value;
  const std::uint8_t how = in.byte() % 6;
  if (how < 3 && !value.members.empty() && depth < 3) return change(value.members, in, depth + 1);
  if (how < 3 && !value.list.empty() && depth < 3)
    return change(value.list[in.byte() % value.list.size()], in, depth + 1);
  switch (how) {
    case 3:
      value = Value::of(in.text());
      break;
    case 4:
      value = Value::of_list({Value::of(in.number())});
      break;
    default:
      value = Value::of(in.number());
  }
}
void change(std::vector<dynamodb::Attribute>& members, Input& in, int depth) {
  if (members.empty()) return;
  const std::size_t at = in.byte() % members.size();
  switch (in.byte() % 8) {
    case 0:
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      members[at].name = in.text();
      break;
    case 2:
      members.push_back(members[at]);
      break;
    default:
      change(members[at].value, in, depth);
  }
}

void read_item(Input& in) {
  using namespace dynamodb;
  const std::uint8_t which = in.byte() % 7;
  Item item;
  if (which == 0) item = write_bucket({"default", "key", "r"}, {some_state(), "parent"}, {"tpm"}, 1);
  if (which == 1)
    item =
        write_marker({"ENTITY#key", "#LEASE#1"}, {1, false, some_lease(), {"key"}, {7}, 1'800'000'000'000});
  if (which == 2) item = write_limits("default", "e key r", some_record());
  if (which == 3)
    item = write_entity(
        "default", {.id = "key", .parent = "top", .cascade = true, .plan = "pro", .plan_stamp = 5}, {"a"});
  if (which == 4) item = write_event({"AUDIT#key", "#AUDIT#1"}, {.id = "1", .at = 5}, 1000);
  if (which == 5)
    item = {{"PK", Value::of("ENTITY#key")},
            {"SK", Value::of("#BUCKET#r#rpm")},
            {"tokens_milli", Value::of(5)},
            {"last_refill_ms", Value::of(6)},
            {"capacity_milli", Value::of(7000)},
            {"burst_milli", Value::of(7000)},
            {"refill_amount_milli", Value::of(7000)},
            {"refill_period_ms", Value::of(1000)},
            {"data", Value::of_map({{"total_consumed_milli", Value::of(5)}})}};
  if (which == 6) item = write_plan("default", "pro", some_plan());
  // Bounded: a change of an item without attributes takes no input.
  for (int i = 0; i < most_changes && !in.empty(); ++i) change(item, in, 0);
  if (const auto read = read_bucket(item)) use(read->state);
  (void)read_marker(item);
  const auto limits = read_limits(item);
  use(limits::LimitsRecordRef(limits ? limits->get() : bad_limits(item, limits.error()).get()));
  (void)read_entity(item);
  if (const auto plan = read_plan(item)) use((*plan)->limits);
  (void)read_beyond(item);
  (void)read_moving(item);
  (void)read_event(item);
  if (const auto legacy = read_legacy(item)) use(merged(std::span(&*legacy, 1), 1));
}

/// Replaces words of a text, or doubles at its beginning.
void change(std::string& text, Input& in) {
  const std::size_t at = text.empty() ? 0 : in.byte() % text.size();
  switch (in.byte() % 5) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.insert(at, in.text());
      break;
    case 2: {
      const auto number = static_cast<double>(in.number());
      const std::size_t place = at / 8 * 8;
      if (place + 8 <= text.size()) std::memcpy(text.data() + place, &number, 8);
      break;
    }
    default: {
      const std::size_t from = std::min(text.find_first_of("-0123456789", at), text.size());
      const std::size_t end = std::min(text.find_first_not_of("-0123456789", from), text.size());
      text.replace(from, end - from, std::to_string(in.number()));
    }
  }
}

void read_redis(Input& in) {
  const std::uint8_t which = in.byte() % 6;
  std::string text;
  if (which == 4) text = redis::encode(some_plan());
  if (which == 5) text = redis::encode(Entity{.id = "key", .plan = "pro", .plan_stamp = 5});
  if (which == 0) text = redis::encode(redis::StoredBucket{some_state(), 1, {}}).bytes;
  if (which == 1) text = redis::encode(decision::Marker{some_lease(), 1'800'000'000'000, {{"key", 7}}});
  if (which == 2) text = redis::encode(some_record());
  if (which == 3) text = redis::encode(Entity{.id = "key", .parent = "top", .cascade = true});
  for (int i = 0; i < most_changes && !in.empty(); ++i) change(text, in);
  if (const auto read = redis::read_bucket(text, "key", "r"); read && read->bucket) use(read->bucket->state);
  (void)redis::decode_marker(text);
  const limits::LimitsRecordRef limits = redis::decode_limits(text);
  use(limits ? limits : redis::bad_limits(text, "bad"));
  if (const auto plan = redis::decode_plan(text)) use(plan->limits);
  (void)redis::decode_entity("key", text);
  (void)redis::decode_event(text);
}

void read_sqlite(Input& in) {
  static const std::unique_ptr<sqlite::Database> database =
      *sqlite::Database::open(":memory:", sqlite::Access::write);
  static sqlite::JsonDecoder decoder(*database);
  const std::uint8_t which = in.byte() % 4;
  std::string text;
  const limits::LimitSetRef set = some_set();
  if (which == 0) text = sqlite::to_json(*set);
  if (which == 1) text = sqlite::to_json(some_record().earlier);
  if (which == 2) text = sqlite::to_json(some_lease().amounts);
  if (which == 3) text = R"({"rpm":[85000,15000],"tpm":[1,2,1]})";
  for (int i = 0; i < most_changes && !in.empty(); ++i) change(text, in);
  if (const auto read = decoder.limit_set(text)) (void)(*read)->limits();
  if (auto versions = decoder.versions(text)) {
    auto record = base::make_ref<limits::LimitsRecord>(some_record());
    record->earlier = *std::move(versions);
    use(limits::LimitsRecordRef(record.get()));
  }
  (void)decoder.amounts(text);
  (void)decoder.texts(text);
  (void)decoder.lease_buckets(text);
  (void)decoder.metadata(text);
  std::vector<table::Balance> balances(set->size());
  std::string holds;
  (void)sqlite::read_balances(text, *set, balances, holds);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  switch (in.byte() % 3) {
    case 0:
      read_item(in);
      break;
    case 1:
      read_redis(in);
      break;
    default:
      read_sqlite(in);
  }
  return 0;
}

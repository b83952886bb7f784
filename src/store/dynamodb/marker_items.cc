// Markers: items of leases that were changed, and of acquires that happen once.
#include <limits>

#include "base/maxima.h"
#include "base/wide.h"
#include "limits/names.h"
#include "store/dynamodb/item_parts.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {
namespace {

using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;

/// Three numbers for each use of a grant: bucket, end, millitokens.
Value granted_value(const std::vector<detail::GrantUse>& uses) {
  std::vector<Value> numbers;
  for (const detail::GrantUse& use : uses) {
    for (const std::int64_t one : {std::int64_t{use.bucket}, use.end, use.amount})
      numbers.push_back(number(one));
  }
  return Value::of_list(std::move(numbers));
}

std::optional<std::vector<detail::GrantUse>> granted_in(const Value* value) {
  std::vector<detail::GrantUse> uses;
  if (value == nullptr) return uses;
  if (value->list.size() % 3 != 0 || value->list.size() > 3 * maxima::grant_uses) return std::nullopt;
  for (std::size_t i = 0; i < value->list.size(); i += 3) {
    const auto bucket = value->list[i].integer();
    const auto end = value->list[i + 1].integer();
    const auto amount = value->list[i + 2].integer();
    const bool good =
        bucket && end && amount && *bucket >= 0 && *bucket < static_cast<std::int64_t>(limits::max_chain);
    if (!good) return std::nullopt;
    uses.push_back({static_cast<std::uint8_t>(*bucket), *end, *amount});
  }
  return uses;
}

}  // namespace

Item write_marker(const Key& key, const conditional::Marker& marker) {
  // Kept for a while beyond its deadline: clocks differ, and may go back.
  constexpr Time margin = 3'600'000;
  std::vector<Value> amounts;
  for (const decision::LeaseAmount& amount : marker.lease.amounts) {
    Item one{{"l", Value::of(amount.limit)}, {"a", number(amount.amount)}, {"b", number(amount.buckets)}};
    if (amount.holds != 0) add(one, "h", number(amount.holds));
    if (!amount.granted.empty()) add(one, "g", granted_value(amount.granted));
    amounts.push_back(Value::of_map(std::move(one)));
  }
  std::vector<Value> generations;
  for (const std::uint64_t generation : marker.generations)
    generations.push_back(Value::of_unsigned(generation));
  Item item{{"PK", Value::of(key.pk)},
            {"SK", Value::of(key.sk)},
            {"fv", number(item_format)},
            {"seq", number(marker.sequence)},
            {"state", Value::of(marker.fence                                           ? "given-up"
                                : marker.lease.ending == decision::Ending::settled     ? "settled"
                                : marker.lease.ending == decision::Ending::rolled_back ? "rolled-back"
                                                                                       : "open")},
            {"amounts", Value::of_list(std::move(amounts))},
            {"generations", Value::of_list(std::move(generations))},
            {"deadline", number(marker.deadline)},
            {"ttl", number(to_ttl(base::saturating_add(marker.deadline, margin)))}};
  if (marker.first_deadline != 0) add(item, "first_deadline", number(marker.first_deadline));
  if (!marker.entities.empty()) add(item, "entities", names_value(marker.entities));
  if (!marker.lease.keys.empty()) add(item, "keys", names_value(marker.lease.keys));
  return item;
}

Result<conditional::Marker> read_marker(const Item& item) {
  if (auto known = check_format(item); !known) return known.error();
  conditional::Marker read;
  const auto sequence = integer_of(item, "seq");
  const auto deadline = integer_of(item, "deadline");
  const std::string_view state = text_of(item, "state");
  const Value* const amounts = find(item, "amounts");
  if (!sequence || !deadline || state.empty() || amounts == nullptr) return damaged(item, "no lease in it");
  read.sequence = *sequence;
  read.deadline = *deadline;
  read.first_deadline = integer_of(item, "first_deadline").value_or(0);
  read.fence = state == "given-up";
  read.lease.ending = state == "settled"       ? decision::Ending::settled
                      : state == "rolled-back" ? decision::Ending::rolled_back
                                               : decision::Ending::open;
  for (const Value& one : amounts->list) {
    const Value* const limit = one.find("l");
    const Value* const amount = one.find("a");
    const Value* const buckets = one.find("b");
    const auto number_of = [](const Value* value) {
      return value == nullptr ? std::nullopt : value->integer();
    };
    if (limit == nullptr || !number_of(amount) || !number_of(buckets)) return damaged(item, "no lease in it");
    const std::int64_t holds = number_of(one.find("h")).value_or(0);
    const auto is_mask = [](std::int64_t mask) {
      return mask >= 0 && mask <= std::numeric_limits<std::uint8_t>::max();
    };
    if (!is_mask(*number_of(buckets)) || !is_mask(holds))
      return damaged(item, "a lease of buckets that no chain has");
    auto granted = granted_in(one.find("g"));
    if (!granted) return damaged(item, "no usable grants of a lease");
    read.lease.amounts.push_back({limit->text, *number_of(amount),
                                  static_cast<std::uint8_t>(*number_of(buckets)),
                                  static_cast<std::uint8_t>(holds), *std::move(granted)});
  }
  if (const Value* const generations = find(item, "generations")) {
    for (const Value& one : generations->list) read.generations.push_back(one.natural().value_or(0));
  }
  read.entities = names_in(find(item, "entities"));
  read.lease.keys = names_in(find(item, "keys"));
  if (!bucket::is_stored_time(read.deadline) || !bucket::is_stored_time(read.first_deadline) ||
      !bucket::is_stored_time(read.sequence) || read.generations.size() > limits::max_chain ||
      read.entities.size() > limits::max_chain || !decision::can_be_used(read.lease))
    return damaged(item, "numbers that no lease has");
  return read;
}

}  // namespace weir::dynamodb

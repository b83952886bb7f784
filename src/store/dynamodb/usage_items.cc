#include "store/dynamodb/usage_items.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "base/text.h"
#include "limits/names.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {
namespace {

using base::join;
using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;

/// An item is deleted by its ttl only if nobody has folded it for this long.
constexpr Time fold_margin = 7 * usage::day;
/// Leases of shards that the stream does not have any more are erased; this is for a table whose aggregator
/// was switched off.
constexpr Time keep_lease_for = 7 * usage::day;

constexpr std::array<std::string_view, 15> own_names = {
    "PK",     "SK",     "entity_id", "resource", "window", "window_start", "total_events", "ttl",
    "GSI1PK", "GSI1SK", "GSI2PK",    "GSI2SK",   "GSI3PK", "GSI3SK",       "data"};
constexpr std::string_view escape = "_limit_";

bool is_own(std::string_view name) {
  return std::find(own_names.begin(), own_names.end(), name) != own_names.end();
}

std::optional<int> number_in(std::string_view text, std::size_t at, std::size_t length) {
  const auto number = base::parse_digits(text.substr(at, length));
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

std::optional<Time> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number_in(text, 0, 4);
  const auto month = number_in(text, 5, 2);
  const auto day = number_in(text, 8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * usage::day;
}

/// Adds what is the same in every write of a window.
void set_names(Expression& expression, const usage::BucketId& bucket, UsageWindow window, Time start) {
  expression.set("entity_id", Value::of(bucket.entity));
  expression.set("resource", Value::of(bucket.resource));
  expression.set("window", Value::of(std::string_view(name_of(window))));
  expression.set("window_start", Value::of(window_text(start)));
  expression.set("GSI2PK", Value::of(usage_index_pk(bucket.name_space, bucket.resource)));
  expression.set("GSI2SK", Value::of(usage_index_sk(start, bucket.entity)));
}

Value ttl_of(UsageWindow window, Time start, const store::UsageKept& kept) {
  const Time keep_for = window == UsageWindow::day ? kept.days : kept.hours + fold_margin;
  return Value::of(to_ttl(start + length_of(window) + keep_for));
}

Value cursor_value(const usage::StreamCursor& cursor) {
  Item counters;
  for (const usage::Used& used : cursor.counted.amounts)
    counters.push_back({used.limit, Value::of(used.amount)});
  return Value::of_map({{"p", Value::of(cursor.position)},
                        {"g", Value::of_unsigned(cursor.counted.generation)},
                        {"n", Value::of_map(std::move(counters))}});
}

/// The lease is as it was read.
void require(Expression& expression, const usage::ShardLease& lease) {
  const std::string owner = expression.name("owner");
  expression.condition(join(owner, "=", expression.value(Value::of(lease.owner))));
  const std::string until = expression.name("until");
  expression.condition(join(until, "=", expression.value(lease.until)));
}

Key lease_key_of(std::string_view shard) { return {std::string(aggregator_pk), join(shard_prefix, shard)}; }

}  // namespace

std::string window_text(Time start) {
  const Time moment = std::clamp<Time>(start, 0, last_window);
  const Time days = moment / usage::day;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  const auto seconds = static_cast<int>(moment % usage::day / 1000);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), seconds / 3600,
                seconds / 60 % 60, seconds % 60);
  return text.data();
}

std::optional<Time> parse_window(std::string_view text) {
  const auto date = parse_date(text.substr(0, 10));
  if (!date || text.size() == 10) return date;
  if (text.size() != 20 || text[10] != 'T' || text[13] != ':' || text[16] != ':' || text[19] != 'Z')
    return std::nullopt;
  const auto hours = number_in(text, 11, 2);
  const auto minutes = number_in(text, 14, 2);
  const auto seconds = number_in(text, 17, 2);
  if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 59) return std::nullopt;
  return *date + *hours * usage::hour + *minutes * Time{60'000} + *seconds * Time{1000};
}

std::string usage_sort_prefix(std::string_view resource) { return join(usage_prefix, resource, "#"); }

Key usage_key(const usage::BucketId& bucket, UsageWindow window, Time start) {
  std::string text = window_text(start);
  if (window == UsageWindow::day) text.resize(10);
  return {entity_pk(bucket.name_space, bucket.entity), usage_sort_prefix(bucket.resource) + text};
}

std::string usage_index_pk(std::string_view name_space, std::string_view resource) {
  return join(prefix_of(name_space), "RESOURCE#", resource);
}

std::string usage_index_sk(Time start, std::string_view entity) {
  return entity.empty() ? join("USAGE#", window_text(start))
                        : join("USAGE#", window_text(start), "#", entity);
}

std::optional<UsageName> usage_name(const Key& key) {
  if (!key.sk.starts_with(usage_prefix)) return std::nullopt;
  const std::string_view rest = std::string_view(key.sk).substr(usage_prefix.size());
  const std::size_t end = rest.find('#');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = rest.substr(end + 1);
  const auto start = parse_window(text);
  auto owner = entity_of(key.pk);
  if (!start || !owner) return std::nullopt;
  return UsageName{{std::move(owner->name_space), std::move(owner->entity), std::string(rest.substr(0, end))},
                   text.size() == 10 ? UsageWindow::day : UsageWindow::hour,
                   *start};
}

Result<Usage> read_usage(const Item& item) {
  const Key key = key_of(item);
  const auto damaged = [&](std::string_view what) {
    return base::error(ErrorCode::unavailable, "the item ", base::quoted(key.pk), " ", base::quoted(key.sk),
                       " has ", what, "; something else than weir wrote it: repair or delete it");
  };
  const auto name = usage_name(key);
  if (!name || name->start != start_of(name->window, name->start)) return damaged("no key of usage");
  const auto events = integer_of(item, "total_events");
  if (!events) return damaged("no total_events");
  Usage usage{name->bucket.entity, name->bucket.resource, name->window, name->start, {}, *events};
  for (const Attribute& attribute : item) {
    std::string_view limit = attribute.name;
    if (!attribute.value.is(Value::Type::number) || is_own(limit)) continue;
    if (limit.starts_with(escape)) limit.remove_prefix(escape.size());
    const auto amount = attribute.value.integer();
    if (!limits::check_limit_name(limit) || !amount) return damaged("an amount that is none");
    if (*amount != 0) usage.limits.push_back({std::string(limit), Amount::milli(*amount)});
  }
  std::sort(usage.limits.begin(), usage.limits.end(),
            [](const UsedAmount& a, const UsedAmount& b) { return a.limit < b.limit; });
  return usage;
}

std::optional<usage::StreamCursor> read_cursor(const Item& item) {
  const auto name = usage_name(key_of(item));
  const Value* const value = find(item, cursor_attribute);
  if (value == nullptr || !name || name->window != UsageWindow::hour) return std::nullopt;
  const Value* const position = value->find("p");
  const Value* const generation = value->find("g");
  const Value* const counters = value->find("n");
  if (position == nullptr || generation == nullptr || counters == nullptr || position->text.empty())
    return std::nullopt;
  usage::StreamCursor cursor{position->text, {generation->natural().value_or(0)}, name->start};
  for (const Attribute& counter : counters->members) {
    const auto amount = counter.value.integer();
    if (!amount) return std::nullopt;
    cursor.counted.amounts.push_back({counter.name, *amount});
  }
  std::sort(cursor.counted.amounts.begin(), cursor.counted.amounts.end(),
            [](const usage::Used& a, const usage::Used& b) { return a.limit < b.limit; });
  return cursor;
}

std::string usage_attribute(std::string_view limit) {
  return is_own(limit) ? join(escape, limit) : std::string(limit);
}

ItemWrite render(const usage::BucketId& bucket, const usage::HourWrite& write, const store::UsageKept& kept) {
  using Condition = usage::HourWrite::Condition;
  ItemWrite rendered{.kind = ItemWrite::Kind::update, .key = usage_key(bucket, write.window, write.hour)};
  Expression& expression = rendered.expression;
  if (write.condition != Condition::none) {
    const std::string cursor = expression.name(cursor_attribute);
    if (write.condition == Condition::no_cursor) {
      expression.condition(join("attribute_not_exists(", cursor, ")"));
    } else {
      const std::string position = expression.name("p");
      expression.condition(join(cursor, ".", position, "=", expression.value(Value::of(write.position))));
    }
  }
  if (write.is_new) {
    set_names(expression, bucket, write.window, write.hour);
    expression.set("ttl", ttl_of(write.window, write.hour, kept));
  }
  if (write.cursor) expression.set(cursor_attribute, cursor_value(*write.cursor));
  if (write.retires) expression.set_member(cursor_attribute, "p", Value::of(*write.retires));
  for (const usage::Used& used : write.amounts) expression.add(usage_attribute(used.limit), used.amount);
  if (write.events != 0 || write.is_new) expression.add("total_events", write.events);
  return rendered;
}

ItemWrite addition(const usage::BucketId& bucket, const Usage& day, const store::UsageKept& kept) {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = usage_key(bucket, day.window, day.start)};
  Expression& expression = write.expression;
  set_names(expression, bucket, day.window, day.start);
  expression.set("ttl", ttl_of(day.window, day.start, kept));
  for (const UsedAmount& used : day.limits)
    expression.add(usage_attribute(used.limit), used.amount.millitokens());
  expression.add("total_events", day.events);
  return write;
}

Request latest_hour(const std::string& table, const usage::BucketId& bucket) {
  return query(table, {.pk = entity_pk(bucket.name_space, bucket.entity),
                       .begins_with = usage_sort_prefix(bucket.resource),
                       .backward = true,
                       .limit = 1});
}

Request usage_request(const std::string& table, const usage::BucketId& bucket, const usage::Advance& step,
                      const store::UsageKept& kept) {
  std::vector<ItemWrite> writes;
  for (const usage::HourWrite& write : usage::writes_of(step)) writes.push_back(render(bucket, write, kept));
  return writes.size() == 1 ? single_write(table, writes[0]) : transaction(table, writes, {});
}

ItemWrite registration(const usage::BucketId& bucket) {
  ItemWrite write{
      .kind = ItemWrite::Kind::update,
      .key = {std::string(aggregator_pk), join(resource_prefix, bucket.name_space, "#", bucket.resource)}};
  write.expression.set("name_space", Value::of(bucket.name_space));
  write.expression.set("resource", Value::of(bucket.resource));
  return write;
}

ItemWrite render(const usage::LeaseChange& change, Time now) {
  ItemWrite write{.kind = ItemWrite::Kind::update, .key = lease_key_of(change.next.shard)};
  Expression& expression = write.expression;
  if (change.before) {
    require(expression, *change.before);
  } else {
    expression.condition(join("attribute_not_exists(", expression.name("PK"), ")"));
  }
  expression.set("owner", Value::of(change.next.owner));
  expression.set("until", Value::of(change.next.until));
  expression.set("sequence", Value::of(change.next.sequence));
  expression.set("finished", Value::of_flag(change.next.finished));
  expression.set("ttl", Value::of(to_ttl(now + keep_lease_for)));
  return write;
}

ItemWrite render_erase(const usage::ShardLease& lease) {
  ItemWrite write = erase(lease_key_of(lease.shard));
  require(write.expression, lease);
  return write;
}

std::optional<usage::ShardLease> read_lease(const Item& item) {
  const Key key = key_of(item);
  if (!key.sk.starts_with(shard_prefix)) return std::nullopt;
  const Value* const finished = find(item, "finished");
  return usage::ShardLease{key.sk.substr(shard_prefix.size()), std::string(text_of(item, "owner")),
                           integer_of(item, "until").value_or(0), std::string(text_of(item, "sequence")),
                           finished != nullptr && finished->flag};
}

}  // namespace weir::dynamodb

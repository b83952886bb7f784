#include "store/redis/codec.h"

#include <limits>

#include "limits/access.h"
#include "limits/names.h"
#include "store/client_version.h"

namespace weir::redis {
namespace {

using limits::LimitSetRef;
using limits::NamedParameters;
using limits::Parameters;

/// The version of texts of the catalog. A reader refuses unknown versions.
constexpr std::int64_t format = 1;
constexpr std::int64_t format_with_modes = 3;     ///< of limits that inherit or have modes
constexpr std::int64_t format_with_usage = 4;     ///< the same, of a level that says whether usage is counted
constexpr std::int64_t format_with_mark = 5;      ///< of the system level, with the state of the namespace
constexpr std::int64_t format_with_plan = 3;      ///< of an entity that has, or had, a plan
constexpr std::int64_t format_with_access = 5;    ///< of an entity that has access rules
constexpr std::string_view on_all = "_default_";  ///< the set of a plan for all resources

/// Whether these are limits as somebody set them, not merged ones.
bool as_set(const limits::LimitSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].rate != limits::reduced(set[i].refill_amount, set[i].refill_period)) return false;
  }
  return set.size() <= limits::max_limits;
}

}  // namespace

void append(Words& words, std::string_view name, const Parameters& limit) {
  words.name(name).number(limit.capacity).number(limit.burst).number(limit.refill_amount);
  words.number(limit.refill_period).number(limit.rate.amount).number(limit.rate.period);
}

NamedParameters read_parameters(WordReader& reader) {
  NamedParameters limit{std::string(reader.name()), {}};
  Parameters& numbers = limit.parameters;
  for (std::int64_t* number : {&numbers.capacity, &numbers.burst, &numbers.refill_amount,
                               &numbers.refill_period, &numbers.rate.amount, &numbers.rate.period})
    *number = reader.number();
  if (!reader.failed() && !limits::can_be_merged(numbers)) reader.fail();
  return limit;
}

namespace {

void append_set(Words& words, const LimitSetRef& set, bool modes = false) {
  words.number(set ? static_cast<std::int64_t>(set->size()) : -1);
  for (std::size_t i = 0; set && i < set->size(); ++i) {
    append(words, set->name(i), (*set)[i]);
    if (modes) words.number(static_cast<int>(set->mode(i)));
  }
}

LimitSetRef read_set(WordReader& reader, bool modes = false) {
  const std::int64_t size = reader.count();
  if (size < 0) return {};
  std::vector<NamedParameters> limits;
  for (std::int64_t i = 0; i < size && !reader.failed(); ++i) {
    NamedParameters& limit = limits.emplace_back(read_parameters(reader));
    const std::int64_t mode = modes ? reader.number() : 0;
    if (!in_range(mode, static_cast<int>(Mode::off))) reader.fail();
    if (!reader.failed()) limit.mode = static_cast<Mode>(mode);
  }
  LimitSetRef set =
      reader.failed() ? LimitSetRef() : limits::stored_set(std::move(limits), limits::most_merged_names);
  if (!set) reader.fail();
  return set;
}

}  // namespace

std::string encode(const limits::LimitSet& set) {
  Words words;
  for (std::size_t i = 0; i < set.size(); ++i) append(words, set.name(i), set[i]);
  return std::move(words.str());
}

std::optional<LimitSetRef> decode_set(std::string_view text) {
  WordReader reader(text);
  std::vector<NamedParameters> limits;
  while (!reader.at_end() && !reader.failed()) limits.push_back(read_parameters(reader));
  if (reader.failed()) return std::nullopt;
  LimitSetRef set = limits::stored_set(std::move(limits), limits::most_merged_names);
  return set ? std::optional(std::move(set)) : std::nullopt;
}

namespace {

constexpr std::int64_t no_usage_setting = 2;

void append_mark(Words& words, const limits::LimitsRecord& record) {
  const limits::NamespaceMark& mark = record.name_space;
  words.number(record.usage ? std::int64_t{*record.usage} : no_usage_setting);
  words.number(mark.created_at).number(mark.purged_at).number(mark.kept_until);
}

bool read_mark(WordReader& reader, limits::LimitsRecord& record) {
  if (const std::int64_t usage = reader.number(); usage != no_usage_setting) record.usage = usage == 1;
  limits::NamespaceMark& mark = record.name_space;
  mark.created_at = reader.number();
  mark.purged_at = reader.number();
  mark.kept_until = reader.number();
  return limits::can_be_used(mark);
}

void append_record(Words& words, const limits::LimitsRecord& record) {
  const bool modes = record.usage || store::client_of(record) > store::plain_client;
  const bool marked = record.name_space.is_set();
  words
      .number(marked         ? format_with_mark
              : record.usage ? format_with_usage
              : modes        ? format_with_modes
                             : format)
      .number(record.current.stamp)
      .number(record.owner == Owner::sync ? 1 : 0);
  words.number(record.expires_at).number(record.bucket_ttl_refill_multiplier.value_or(0));
  words.number(record.on_unavailable ? 1 + static_cast<int>(*record.on_unavailable) : 0);
  words.number(record.from_file ? 1 : 0);
  if (modes) words.number(record.inherits() ? 1 : 0);
  if (marked) append_mark(words, record);
  if (record.usage && !marked) words.number(*record.usage ? 1 : 0);
  append_set(words, record.current.limits, modes);
  words.number(static_cast<std::int64_t>(record.earlier.size()));
  for (const limits::Version& version : record.earlier) {
    words.number(version.stamp).number(version.gap ? 1 : 0);
    append_set(words, version.limits);
  }
}

/// Null if it cannot be used.
limits::LimitsRecordRef read_record(WordReader& reader) {
  auto record = base::make_ref<limits::LimitsRecord>();
  const std::int64_t written = reader.number();
  if (written != format && written != format_with_modes && written != format_with_usage &&
      written != format_with_mark)
    return {};
  const bool modes = written != format;
  record->current.stamp = reader.number();
  record->owner = reader.number() == 1 ? Owner::sync : Owner::operator_;
  record->expires_at = reader.number();
  const std::int64_t multiplier = reader.number();
  if (!in_range(multiplier, std::numeric_limits<int>::max())) return {};
  if (multiplier > 0) record->bucket_ttl_refill_multiplier = static_cast<int>(multiplier);
  if (const auto policy = reader.number(); policy > 0)
    record->on_unavailable = policy == 2 ? OnUnavailable::allow : OnUnavailable::deny;
  record->from_file = reader.number() == 1;
  record->current.gap = modes && reader.number() == 1;
  if (written == format_with_usage) record->usage = reader.number() == 1;
  if (written == format_with_mark && !read_mark(reader, *record)) return {};
  record->current.limits = read_set(reader, modes);
  if (reader.failed() || !limits::can_be_used(record->current)) return {};
  if (record->current.limits && !as_set(*record->current.limits)) return {};
  for (std::int64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    limits::Version version;
    version.stamp = reader.number();
    version.gap = reader.number() == 1;
    version.limits = read_set(reader);
    if (!limits::can_be_used(version)) return {};
    record->earlier.push_back(std::move(version));
  }
  return reader.failed() ? limits::LimitsRecordRef() : limits::LimitsRecordRef(record.get());
}

}  // namespace

std::string encode(const limits::LimitsRecord& record) {
  Words words;
  append_record(words, record);
  return std::move(words.str());
}

limits::LimitsRecordRef decode_limits(std::string_view text) {
  WordReader reader(text);
  limits::LimitsRecordRef record = read_record(reader);
  return reader.done() ? record : limits::LimitsRecordRef();
}

std::string encode(const limits::PlanRecord& plan) {
  Words words;
  words.number(format).number(plan.from_file ? 1 : 0);
  words.number(static_cast<std::int64_t>(plan.resources.size()) + (plan.limits ? 1 : 0));
  if (plan.limits) append_record(words.name(on_all), *plan.limits);
  for (const auto& [resource, set] : plan.resources) append_record(words.name(resource), *set);
  return std::move(words.str());
}

limits::PlanRecordRef decode_plan(std::string_view text) {
  WordReader reader(text);
  if (reader.number() != format) return {};
  auto plan = base::make_ref<limits::PlanRecord>();
  plan->from_file = reader.number() == 1;
  for (std::int64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    const std::string resource(reader.name());
    limits::LimitsRecordRef set = read_record(reader);
    if (!set || (resource != on_all && !limits::check_resource(resource))) return {};
    (resource == on_all ? plan->limits : plan->resources[resource]) = std::move(set);
  }
  return reader.done() ? limits::PlanRecordRef(plan.get()) : limits::PlanRecordRef();
}

limits::LimitsRecordRef bad_limits(std::string_view text, std::string sentence) {
  WordReader reader(text);
  reader.number();
  const Time stamp = reader.number();
  const bool sync = reader.number() == 1;
  auto record = base::make_ref<limits::LimitsRecord>();
  if (!reader.failed() && in_range(stamp, limits::latest_stamp)) record->current.stamp = stamp;
  if (!reader.failed() && sync) record->owner = Owner::sync;
  record->bad = std::move(sentence);
  return limits::LimitsRecordRef(record.get());
}

std::string encode(const Entity& entity) {
  Words words;
  const std::string access = limits::encode_access(entity);
  const bool has_plan = entity.plan_stamp != 0 || !access.empty();
  words.number(!access.empty() ? format_with_access : has_plan ? format_with_plan : format);
  words.number(entity.cascade ? 1 : 0).number(entity.created_at);
  words.number(entity.from_file ? 1 : 0).text(entity.parent).text(entity.name);
  words.number(static_cast<std::int64_t>(entity.metadata.size()));
  for (const auto& [name, value] : entity.metadata) words.text(name).text(value);
  if (has_plan) words.text(entity.plan).number(entity.plan_stamp);
  if (!access.empty()) words.text(access);
  return std::move(words.str());
}

std::optional<Entity> decode_entity(std::string_view id, std::string_view text) {
  WordReader reader(text);
  const std::int64_t written = reader.number();
  if (written != format && written != format_with_plan && written != format_with_access) return std::nullopt;
  Entity entity{.id = std::string(id)};
  entity.cascade = reader.number() == 1;
  entity.created_at = reader.number();
  entity.from_file = reader.number() == 1;
  entity.parent = reader.text();
  entity.name = reader.text();
  for (std::int64_t left = reader.count(); left > 0 && !reader.failed(); --left) {
    std::string name = reader.text();
    entity.metadata.emplace(std::move(name), reader.text());
  }
  if (written != format) {
    entity.plan = reader.text();
    entity.plan_stamp = reader.number();
    if (!in_range(entity.plan_stamp, limits::latest_stamp)) return std::nullopt;
    if (!entity.plan.empty() && !limits::check_plan(entity.plan)) return std::nullopt;
  }
  if (written == format_with_access && !limits::decode_access(reader.text(), entity)) return std::nullopt;
  if (!entity.parent.empty() && (!limits::check_entity(entity.parent) || entity.parent == id))
    return std::nullopt;
  return reader.done() ? std::optional(std::move(entity)) : std::nullopt;
}

std::string encode(const store::AuditEvent& event) {
  Words words;
  words.name(event.id).number(event.at).text(event.principal).name(event.action).text(event.subject);
  words.text(event.resource).text(event.before).text(event.after);
  return std::move(words.str());
}

std::optional<store::AuditEvent> decode_event(std::string_view text) {
  WordReader reader(text);
  store::AuditEvent event;
  event.id = reader.name();
  event.at = reader.number();
  event.principal = reader.text();
  event.action = reader.name();
  event.subject = reader.text();
  event.resource = reader.text();
  event.before = reader.text();
  event.after = reader.text();
  return reader.done() ? std::optional(std::move(event)) : std::nullopt;
}

}  // namespace weir::redis

#include "store/copy.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hex.h"
#include "base/text.h"
#include "limits/access.h"
#include "store/client_version.h"
#include "usage/rows.h"

namespace weir::store {
namespace {

using base::join;
using base::quoted;

/// Enough for a store to write many at once, and few enough to be held in memory.
constexpr std::size_t records_in_a_page = 250;

/// Writes a record as one text: numbers and texts, each text with its length, so that no two records have the
/// same one.
class ContentWriter {
 public:
  ContentWriter& number(std::int64_t number) {
    text_.append(std::to_string(number)).append(1, ' ');
    return *this;
  }
  ContentWriter& text(std::string_view text) {
    number(static_cast<std::int64_t>(text.size()));
    text_.append(text).append(1, ' ');
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_set(ContentWriter& to, const limits::LimitSetRef& set) {
  to.number(set ? static_cast<std::int64_t>(set->size()) : -1);
  for (std::size_t i = 0; set && i < set->size(); ++i) {
    const limits::Parameters& limit = (*set)[i];
    to.text(set->name(i)).number(static_cast<std::int64_t>(set->mode(i)));
    to.number(limit.capacity).number(limit.burst).number(limit.refill_amount).number(limit.refill_period);
  }
}

/// Of an earlier version only the rate is known, not how it was said.
void write_earlier(ContentWriter& to, const limits::Version& version) {
  to.number(version.stamp).number(version.gap);
  to.number(version.limits ? static_cast<std::int64_t>(version.limits->size()) : -1);
  for (std::size_t i = 0; version.limits && i < version.limits->size(); ++i) {
    const limits::Parameters& limit = (*version.limits)[i];
    to.text(version.limits->name(i)).number(limit.capacity).number(limit.burst);
    to.number(limit.rate.amount).number(limit.rate.period);
  }
}

void write_versions(ContentWriter& to, const limits::LimitsRecord& record) {
  to.number(record.current.stamp).number(record.inherits());
  write_set(to, record.current.limits);
  to.number(static_cast<std::int64_t>(record.earlier.size()));
  for (const limits::Version& version : record.earlier) write_earlier(to, version);
}

void write(ContentWriter& to, const CopiedLimits& limits) {
  const limits::LimitsRecord& record = *limits.record;
  write_versions(to, record);
  to.number(record.bucket_ttl_refill_multiplier.value_or(-1));
  to.number(record.on_unavailable ? static_cast<std::int64_t>(*record.on_unavailable) : -1);
  to.number(record.usage ? static_cast<std::int64_t>(*record.usage) : -1).number(record.from_file);
  if (record.name_space.is_set()) to.text(limits::encode_mark(record.name_space));
  // Deleted limits have no owner: anybody may set them again.
  if (record.current.limits) to.number(record.owner == Owner::sync).number(record.expires_at);
}

void write(ContentWriter& to, const CopiedPlan& plan) {
  to.number(plan.record->from_file).number(plan.record->limits ? 1 : 0);
  if (plan.record->limits) write_versions(to, *plan.record->limits);
  for (const auto& [resource, set] : plan.record->resources) {
    to.text(resource);
    write_versions(to, *set);
  }
}

void write(ContentWriter& to, const Entity& entity) {
  to.text(entity.parent).number(entity.cascade).text(entity.name).number(entity.created_at);
  to.number(entity.from_file).text(entity.plan).number(entity.plan_stamp);
  to.text(limits::encode_access(entity));
  for (const auto& [name, value] : entity.metadata) to.text(name).text(value);
}

void write(ContentWriter& to, const CopiedBucket& bucket) {
  const bucket::State& state = bucket.state;
  to.number(state.refilled_at).number(state.version).text(std::to_string(state.generation));
  to.number(state.expires_at).number(bucket.counts_usage);
  std::map<std::string_view, const bucket::LimitState*> by_name;
  for (const bucket::LimitState& limit : state.limits) by_name.emplace(limit.name, &limit);
  for (const auto& [name, limit] : by_name) {
    const limits::Parameters& parameters = limit->parameters;
    to.text(name).number(limit->tokens).number(limit->consumed).number(limit->dormant);
    to.number(parameters.capacity).number(parameters.burst);
    to.number(parameters.refill_amount).number(parameters.refill_period);
    for (const bucket::Holds* const list : {&limit->holds, &limit->grants}) {
      to.number(static_cast<std::int64_t>(list->size()));
      for (const bucket::Hold& one : *list) to.number(one.deadline).number(one.amount);
    }
  }
}

void write(ContentWriter& to, const CopiedLease& lease) {
  const decision::Marker& marker = lease.marker;
  to.number(static_cast<std::int64_t>(marker.record.ending)).number(marker.deadline);
  to.number(marker.first_deadline).number(static_cast<std::int64_t>(marker.buckets.size()));
  for (const decision::LeaseBucket& bucket : marker.buckets)
    to.text(bucket.entity).text(std::to_string(bucket.generation));
  to.number(static_cast<std::int64_t>(marker.record.amounts.size()));
  for (const decision::LeaseAmount& amount : marker.record.amounts) {
    to.text(amount.limit).number(amount.amount).number(amount.buckets).number(amount.holds);
    to.number(static_cast<std::int64_t>(amount.granted.size()));
    for (const detail::GrantUse& use : amount.granted)
      to.number(use.bucket).number(use.end).number(use.amount);
  }
  for (const std::string& key : marker.record.keys) to.text(key);
}

void write(ContentWriter& to, const CopiedUsage& usage) {
  for (const Usage& row : usage.rows) {
    to.number(static_cast<std::int64_t>(row.window)).number(row.start).number(row.events);
    to.number(static_cast<std::int64_t>(row.limits.size()));
    for (const UsedAmount& used : row.limits) to.text(used.limit).number(used.amount.millitokens());
  }
}

void write(ContentWriter& to, const AuditEvent& event) {
  to.number(event.at).text(event.principal).text(event.action).text(event.subject).text(event.resource);
  to.text(event.before).text(event.after);
}

/// Names a record. `name` turns each name in it into words: shortened for messages, or as it is for a key.
struct Describe {
  std::string (*name)(std::string_view);

  std::string operator()(const CopiedLimits& limits) const {
    const Level& level = limits.level;
    if (level.kind() == Source::system) return "limits of the system";
    if (level.kind() == Source::resource) return join("limits of resource ", name(level.resource()));
    if (level.kind() == Source::entity_default) return join("limits of ", name(level.entity()));
    return pair("limits of ", level.entity(), level.resource());
  }
  std::string operator()(const CopiedPlan& plan) const { return join("plan ", name(plan.name)); }
  std::string operator()(const Entity& entity) const { return join("entity ", name(entity.id)); }
  std::string operator()(const CopiedBucket& bucket) const {
    return pair("bucket of ", bucket.entity, bucket.resource);
  }
  std::string operator()(const CopiedLease& lease) const {
    return join("lease ", base::hex(lease.nonce[0]), base::hex(lease.nonce[1]));
  }
  std::string operator()(const CopiedUsage& usage) const {
    return join(pair("usage of ", usage.entity, usage.resource), " on the day from ",
                std::to_string(usage.day), " ms on");
  }
  std::string operator()(const AuditEvent& event) const { return join("audit event ", event.id); }

 private:
  std::string pair(std::string_view what, std::string_view entity, std::string_view resource) const {
    return join(what, name(entity), " on ", name(resource));
  }
};

/// Adds up the rows of a window. Turns old hours into a day and leaves out what is not kept any more, as each
/// store does at its own time.
void fold(CopiedUsage& usage, const usage::Retention& retention) {
  const bool whole = usage.day < retention.first_hour ||
                     std::any_of(
                         usage.rows.begin(), usage.rows.end(),
                         [](const Usage& row) { return row.window == UsageWindow::day; });
  std::map<Time, Usage> rows;
  for (Usage& row : usage.rows) {
    if (whole) row.window = UsageWindow::day;
    if (whole) row.start = usage.day;
    if (row.start < retention.first_day || row.events == 0) continue;
    const auto [found, is_new] = rows.try_emplace(row.start, row);
    if (!is_new) usage::add(found->second, row);
  }
  usage.rows.clear();
  for (auto& [start, row] : rows) {
    std::erase_if(row.limits, [](const UsedAmount& used) { return used.amount == Amount(); });
    usage.rows.push_back(std::move(row));
  }
}

}  // namespace

std::string described(const CopyRecord& record) {
  return join(std::visit(Describe{quoted}, record.content), " in namespace ", quoted(record.name_space));
}

std::string key_of(const CopyRecord& record) {
  // No name has a space in it.
  const Describe whole{[](std::string_view name) { return std::string(name); }};
  return join(std::visit(whole, record.content), " ", record.name_space);
}

std::string content_of(const CopyRecord& record) {
  ContentWriter to;
  std::visit([&](const auto& content) { write(to, content); }, record.content);
  return to.take();
}

bool CopyPages::is_in_scope(CopyRecord& record) const {
  const Time alive_at = scope_.alive_at;
  if (const auto* const bucket = std::get_if<CopiedBucket>(&record.content))
    return bucket->state.expires_at > alive_at;
  if (const auto* const lease = std::get_if<CopiedLease>(&record.content))
    return lease->marker.deadline > alive_at;
  if (const auto* const event = std::get_if<AuditEvent>(&record.content))
    return event->at > alive_at - scope_.settings.keep_audit_for;
  if (auto* const usage = std::get_if<CopiedUsage>(&record.content)) {
    fold(*usage, usage::retention_at(alive_at, scope_.settings.keep_usage));
    return !usage->rows.empty();
  }
  return true;
}

Result<void> CopyPages::add(CopyRecord record) {
  if (!wants(record.name_space) || !is_in_scope(record)) return {};
  page_.push_back(std::move(record));
  return page_.size() < records_in_a_page ? Result<void>() : flush();
}

Result<void> CopyPages::add_usage(const std::string& name_space, Usage row) {
  const Time day = start_of(UsageWindow::day, row.start);
  if (day_) {
    const auto& last = std::get<CopiedUsage>(day_->content);
    const bool same = day_->name_space == name_space && last.entity == row.entity &&
                      last.resource == row.resource && last.day == day;
    if (!same) {
      if (auto added = end_usage(); !added) return added;
    }
  }
  if (!day_) day_ = CopyRecord{name_space, CopiedUsage{row.entity, row.resource, day, {}}};
  std::get<CopiedUsage>(day_->content).rows.push_back(std::move(row));
  return {};
}

Result<void> CopyPages::end_usage() {
  if (!day_) return {};
  CopyRecord day = *std::exchange(day_, std::nullopt);
  return add(std::move(day));
}

Result<void> CopyPages::flush() {
  if (page_.empty()) return {};
  return visit_(std::exchange(page_, {}));
}

Error in_the_way(const CopyRecord& record) {
  return base::error(ErrorCode::conflict, "the target has something in place of the ", described(record),
                     ": something else writes to it. Stop that, empty the target and copy again");
}

Error cannot_be_copied(const std::string& sentence) {
  return base::error(ErrorCode::unavailable, "the source has a record that cannot be copied: ", sentence,
                     ". weir store check names all of them; nothing is left out silently");
}

void CopyNeeds::add(const CopyRecord& record) {
  client = std::max(client, plain_client);
  if (const auto* const limits = std::get_if<CopiedLimits>(&record.content)) {
    stamp = std::max(stamp, limits->record->current.stamp);
    client = std::max(client, client_of(*limits->record));
  } else if (const auto* const plan = std::get_if<CopiedPlan>(&record.content)) {
    client = std::max(client, plan_client);
    if (plan->record->limits) stamp = std::max(stamp, plan->record->limits->current.stamp);
    for (const auto& [resource, set] : plan->record->resources) stamp = std::max(stamp, set->current.stamp);
  } else if (const auto* const entity = std::get_if<Entity>(&record.content)) {
    stamp = std::max(stamp, entity->plan_stamp);
    if (!entity->plan.empty()) client = std::max(client, plan_client);
    if (!entity->access.empty()) client = std::max(client, access_client);
  } else if (const auto* const bucket = std::get_if<CopiedBucket>(&record.content)) {
    const auto& kept = bucket->state.limits;
    if (std::any_of(kept.begin(), kept.end(), [](const auto& limit) { return !limit.grants.empty(); }))
      client = std::max(client, access_client);
  } else if (const auto* const event = std::get_if<AuditEvent>(&record.content)) {
    audited_to = std::max(audited_to, event->at);
    // The number behind the moment: see audit_id().
    const std::size_t dash = event->id.find('-');
    if (dash != std::string::npos)
      sequence = std::max(sequence, base::parse_digits(event->id.substr(dash + 1)).value_or(0));
  }
}

}  // namespace weir::store

// Writes records of a copy to a Redis store.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/wide.h"
#include "store/redis/bucket_write.h"
#include "store/redis/catalog_steps.h"
#include "store/redis/codec.h"
#include "store/redis/copy.h"
#include "store/redis/usage_codec.h"
#include "store/table/draft.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

/// How long the key of a marker outlives its deadline, as docs/format/redis.md says.
constexpr Time marker_stays = 60'000;

void cut(std::uint64_t& generation) {
  constexpr std::uint64_t bound = std::uint64_t{1} << 53U;
  // 0 would mean that there is no bucket.
  if (generation >= bound) generation = (generation & (bound - 1)) | 1U;
}

/// Adds the steps that write a record of the catalog.
struct AddSteps {
  const Names& names;
  std::string_view name_space;
  Time keep_audit_for;
  CatalogSteps& steps;

  void operator()(const store::CopiedLimits& limits) const {
    const std::string key = table::level_key(limits.level);
    steps.set(key, encode(*limits.record));
    steps.on("in", names.limits(name_space), key);
  }
  void operator()(const store::CopiedPlan& plan) const {
    steps.set("p " + plan.name, encode(*plan.record));
    steps.on("in", names.plans(name_space), plan.name);
  }
  void operator()(const Entity& entity) const {
    steps.set("n " + entity.id, encode(entity));
    steps.on("in", names.entities(name_space), entity.id);
    if (!entity.parent.empty()) steps.on("in", names.children(name_space, entity.parent), entity.id);
    if (!entity.plan.empty()) steps.on("in", names.members(name_space, entity.plan), entity.id);
  }
  void operator()(const store::AuditEvent& event) const {
    const std::string text = encode(event);
    const std::string of_subject = names.audit_of(name_space, event.subject);
    steps.on("in", names.audit(name_space), text);
    steps.on("in", of_subject, text);
    steps.on("stay", of_subject, std::to_string(to_redis(keep_audit_for)));
  }
  template <class Other>
  void operator()(const Other& /*content*/) const {}
};

bool is_of_catalog(const store::CopyRecord& record) {
  return std::holds_alternative<store::CopiedLimits>(record.content) ||
         std::holds_alternative<store::CopiedPlan>(record.content) ||
         std::holds_alternative<Entity>(record.content) ||
         std::holds_alternative<store::AuditEvent>(record.content);
}

/// The record of a bucket whose usage has been collected.
BucketWrite write_of(const store::CopiedBucket& bucket) {
  StoredBucket stored{.state = bucket.state, .stamp = bucket.state.version, .others = {}};
  BucketWrite write;
  if (bucket.counts_usage) {
    // Of the hour before, so that the next charge opens a segment of its own, which is collected.
    stored.segment = usage::Segment{.hour = usage::hour_of(bucket.state.refilled_at) - usage::hour};
    write.open = "-";
  }
  Record record = encode(stored, true);
  write.record = std::move(record.bytes);
  write.kept_until = record.kept_until;
  return write;
}

}  // namespace

Result<std::unique_ptr<RedisCopy>> RedisCopy::open(RedisStoreOptions options) {
  options.must_be_reachable = true;
  options.collects_usage = false;
  auto store = RedisStore::open(options);
  if (!store) return store.error();
  return std::unique_ptr<RedisCopy>(new RedisCopy(*std::move(store)));
}

Result<std::string> RedisCopy::unfinished() {
  const std::string key = context_.names.store();
  auto reply = BlockingCalls(context_).ask(key, resp::command({"HGET", key, "copy"}));
  if (!reply) return reply.error();
  return std::string(reply->get().text());
}

Result<void> RedisCopy::begin(const std::string& copy, const store::CopySettings& settings) {
  if (auto kept = store_->keep_audit_for(settings.keep_audit_for); !kept) return kept;
  if (auto kept = store_->keep_usage(settings.keep_usage); !kept) return kept;
  const std::string key = context_.names.store();
  const std::string_view lease_key(reinterpret_cast<const char*>(settings.lease_key.data()),
                                   settings.lease_key.size());
  auto set = BlockingCalls(context_).ask(
      key, resp::command({"HSET", key, "lease_key", lease_key, "copy", copy}), true);
  return set ? Result<void>() : set.error();
}

Result<void> RedisCopy::end() {
  const std::string key = context_.names.store();
  auto deleted = BlockingCalls(context_).ask(key, resp::command({"HDEL", key, "copy"}), true);
  return deleted ? Result<void>() : deleted.error();
}

bool RedisCopy::fit(store::CopyRecord& record) const {
  if (auto* const bucket = std::get_if<store::CopiedBucket>(&record.content)) cut(bucket->state.generation);
  if (auto* const lease = std::get_if<store::CopiedLease>(&record.content)) {
    for (decision::LeaseBucket& bucket : lease->marker.buckets) cut(bucket.generation);
  }
  return true;
}

Result<void> RedisCopy::put(const std::vector<store::CopyRecord>& page) {
  std::map<std::string, Records> catalogs;
  Records buckets;
  for (const store::CopyRecord& record : page) {
    if (is_of_catalog(record)) catalogs[record.name_space].push_back(&record);
    if (std::holds_alternative<store::CopiedBucket>(record.content)) buckets.push_back(&record);
  }
  // First, since the family of a bucket in a cluster follows from the entities.
  for (const auto& [name_space, records] : catalogs) {
    if (auto done = put_catalog(name_space, records); !done) return done;
  }
  store::CopyNeeds needs;
  for (const store::CopyRecord* const record : buckets) needs.add(*record);
  if (auto raised = catalog_.require_client(needs.client); !raised) return raised;
  if (auto done = put_buckets_of(buckets); !done) return done;
  for (const store::CopyRecord& record : page) {
    Result<void> done;
    if (std::holds_alternative<store::CopiedLease>(record.content)) done = put_lease(record);
    if (std::holds_alternative<store::CopiedUsage>(record.content)) done = put_usage(record);
    if (!done) return done;
  }
  return {};
}

/// One script writes them all with what their listings have, if the catalog has not changed meanwhile.
Result<void> RedisCopy::put_catalog(const std::string& name_space, const Records& records) {
  const std::string catalog = context_.names.catalog(name_space);
  auto reply = BlockingCalls(context_).ask(
      catalog, resp::command({"HMGET", catalog, "generation", "stamp", "sequence", "audited"}));
  if (!reply) return reply.error();
  const Reply head = reply->get();
  auto at = head.children();
  const auto number = [&] { return base::parse_digits(at.next().text()).value_or(0); };
  const std::int64_t generation = number();
  store::CopyNeeds needs;
  needs.stamp = number();
  needs.sequence = number();
  needs.audited_to = number();
  CatalogSteps steps;
  steps.number_of(catalog);
  const AddSteps add{context_.names, name_space, context_.start_up->keep_audit_for(), steps};
  for (const store::CopyRecord* const record : records) {
    needs.add(*record);
    std::visit(add, record->content);
  }
  steps.set("stamp", std::to_string(needs.stamp));
  steps.set("sequence", std::to_string(needs.sequence));
  steps.set("audited", std::to_string(needs.audited_to));
  if (auto raised = catalog_.require_client(needs.client); !raised) return raised;
  Words message;
  message.name(name_space).number(generation + 1);
  std::vector<std::string> words{std::to_string(generation), "-1", context_.names.channel(), message.str()};
  words.insert(words.end(), steps.words.begin(), steps.words.end());
  auto written = BlockingCalls(context_).run(Script::catalog(), steps.keys, words, true);
  if (!written) return written.error();
  return written->get().integer() == 1 ? Result<void>() : store::in_the_way(*records.front());
}

Result<void> RedisCopy::put_buckets_of(const Records& records) {
  std::map<std::pair<std::string_view, std::string_view>, std::string> families;
  std::vector<BucketPut> puts;
  for (const store::CopyRecord* const record : records) {
    const auto& bucket = std::get<store::CopiedBucket>(record->content);
    std::string& family = families[{record->name_space, bucket.entity}];
    if (family.empty()) {
      auto found = catalog_.family_of(record->name_space, bucket.entity);
      if (!found) return found.error();
      family = *std::move(found);
    }
    puts.push_back({{record->name_space, family, bucket.entity, bucket.resource},
                    write_of(bucket),
                    context_.time.now()});
  }
  const auto written = put_buckets(context_, puts);
  if (!written) return written.error();
  for (std::size_t i = 0; i < puts.size(); ++i) {
    if ((*written)[i]) continue;
    // In a cluster the index of usage is written in a step of its own.
    auto done = put_bucket(context_, puts[i].name, puts[i].write, puts[i].now);
    if (!done) return done.error();
    if (!*done) return store::in_the_way(*records[i]);
  }
  return {};
}

Result<void> RedisCopy::put_lease(const store::CopyRecord& record) {
  const auto& lease = std::get<store::CopiedLease>(record.content);
  const Time stays = base::saturating_add(lease.marker.deadline, marker_stays) - context_.time.now();
  if (stays <= 0) return {};
  auto family = catalog_.family_of(record.name_space, lease.entity);
  if (!family) return family.error();
  const std::string key = context_.names.lease(record.name_space, context_.family({}, *family), lease.nonce);
  auto set = BlockingCalls(context_).ask(
      key, resp::command({"SET", key, encode(lease.marker), "PX", std::to_string(stays), "NX"}), true);
  if (!set) return set.error();
  return set->get().is_null() ? store::in_the_way(record) : Result<void>();
}

Result<void> RedisCopy::put_usage(const store::CopyRecord& record) {
  const auto& usage = std::get<store::CopiedUsage>(record.content);
  auto family = catalog_.family_of(record.name_space, usage.entity);
  if (!family) return family.error();
  const BucketName name{record.name_space, *family, usage.entity, usage.resource};
  // First, since the key of usage exists only for buckets in the index.
  if (auto done = index_usage(context_, record.name_space, members_of(context_, name)); !done) return done;
  const bool whole = usage.rows.front().window == UsageWindow::day;
  std::string text;
  for (const Usage& row : usage.rows) {
    usage::Segment segment{.hour = row.start, .events = row.events};
    for (const UsedAmount& used : row.limits)
      segment.amounts.push_back({used.limit, used.amount.millitokens()});
    if (!text.empty()) text += '\n';
    text += whole ? encode_day(window_of(segment)) : encode_closed(segment);
  }
  const std::string day = std::to_string(day_number(usage.day));
  const Time keep = context_.usage_kept().days + usage::day;
  auto written = BlockingCalls(context_).run(
      Script::copy_usage(), {context_.names.usage(record.name_space, *family, usage.entity, usage.resource)},
      {whole ? "d" + day : day, text, std::to_string(keep)}, true);
  if (!written) return written.error();
  return written->get().integer() == 1 ? Result<void>() : store::in_the_way(record);
}

}  // namespace weir::redis

#include "store/redis/catalog_change.h"

#include "base/text.h"
#include "store/audit.h"
#include "store/redis/bucket_write.h"
#include "store/redis/catalog_steps.h"
#include "store/redis/codec.h"

namespace weir::redis {

using base::error;

namespace {

/// With more fields than this, every process clears its whole cache instead.
constexpr std::size_t most_listed = 64;
/// Longer than any process may have the old chain in its cache.
constexpr std::chrono::milliseconds fence_stays = 2 * longest_cache;

}  // namespace

Result<bool> CatalogChange::commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) {
  auto kept = keep(draft, events);
  // If the outcome of the change is unknown, the fences stay until they expire.
  if (!kept && kept.error().code == ErrorCode::outcome_unknown) fenced_.clear();
  if (!kept || !*kept) return kept;
  auto fenced = set_fences(fence_stays);
  fenced_.clear();
  if (!fenced) return fenced.error();
  if (auto updated = tell_buckets(draft); !updated) return updated.error();
  return true;
}

/// False: another change was written first.
Result<bool> CatalogChange::keep(const table::Draft& draft, const std::vector<store::AuditEvent>& events) {
  const Names& names = context_.names;
  CatalogSteps steps;
  steps.number_of(names.catalog(name_space_));
  Words message;
  std::size_t listed = 0;
  message.name(name_space_).number(head_.generation + 1);
  Words fields = message;
  const auto tell = [&](const std::string& field) {
    if (++listed <= most_listed) fields.text(field);
  };
  for (const auto& [key, record] : draft.limits()) {
    steps.set(key, encode(*record));
    steps.on("in", names.limits(name_space_), key);
    tell(key);
  }
  for (const auto& [id, entity] : draft.entities()) {
    const std::string before = parent_before(id);
    const std::string after = entity ? entity->parent : std::string();
    if (entity) {
      steps.set("n " + id, encode(*entity));
      steps.on("in", names.entities(name_space_), id);
    } else {
      steps.erase("n " + id);
      steps.on("out", names.entities(name_space_), id);
    }
    if (before != after && !before.empty()) steps.on("out", names.children(name_space_, before), id);
    if (before != after && !after.empty()) steps.on("in", names.children(name_space_, after), id);
    const std::string plan_left = plan_before(id);
    const std::string plan = entity ? entity->plan : std::string();
    if (plan_left != plan && !plan_left.empty()) steps.on("out", names.members(name_space_, plan_left), id);
    if (plan_left != plan && !plan.empty()) steps.on("in", names.members(name_space_, plan), id);
    tell("n " + id);
  }
  for (const auto& [name, plan] : draft.plans()) {
    if (plan) {
      steps.set("p " + name, encode(*plan));
    } else {
      steps.erase("p " + name);
      for (const std::string& id : not_members_[name]) steps.on("out", names.members(name_space_, name), id);
    }
    steps.on(plan ? "in" : "out", names.plans(name_space_), name);
    tell("p " + name);
  }
  const Time keep_for = catalog_.keep_audit_for();
  const std::string oldest = store::audit_id(now_ - keep_for, 0);
  std::set<std::string> subjects;
  for (const store::AuditEvent& event : events) {
    const std::string text = encode(event);
    steps.on("in", names.audit(name_space_), text);
    steps.on("in", names.audit_of(name_space_, event.subject), text);
    if (!subjects.insert(event.subject).second) continue;
    steps.on("trim", names.audit_of(name_space_, event.subject), oldest);
    steps.on("stay", names.audit_of(name_space_, event.subject), std::to_string(to_redis(keep_for)));
  }
  if (!events.empty()) steps.on("trim", names.audit(name_space_), oldest);
  steps.set("stamp", std::to_string(draft.last_stamp()));
  steps.set("sequence", std::to_string(head_.sequence + static_cast<std::int64_t>(events.size())));
  steps.set("audited", std::to_string(std::max(head_.audited_to, now_)));

  const std::string said = listed <= most_listed ? fields.str() : message.str();
  std::vector<std::string> words{std::to_string(head_.generation),
                                 std::to_string(context_.time.for_tests() ? -1 : now_), names.channel(),
                                 said};
  words.insert(words.end(), steps.words.begin(), steps.words.end());
  auto reply = BlockingCalls(context_).run(Script::catalog(), steps.keys, words, true);
  if (!reply) return reply.error();
  if (reply->get().integer() != 1) return false;
  // This process applies the notification at once.
  catalog_.on_message(said);
  return true;
}

}  // namespace weir::redis

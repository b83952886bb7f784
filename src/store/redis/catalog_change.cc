#include "store/redis/catalog_change.h"

#include <unordered_map>

#include "base/text.h"
#include "decision/next_state.h"
#include "store/audit.h"
#include "store/redis/bucket_write.h"
#include "store/redis/codec.h"

namespace weir::redis {

using base::error;

namespace {

/// With more fields than this, every process clears its whole cache instead.
constexpr std::size_t most_told = 64;
/// Longer than any process may have the old chain in its cache.
constexpr std::chrono::milliseconds fence_stays = 2 * longest_cache;
/// An attempt to write a bucket fails only if another operation has written it.
constexpr int most_put_attempts = 200;

/// The steps of the script.
struct Steps {
  std::vector<std::string> keys;
  std::vector<std::string> words;

  std::string number_of(const std::string& key) {
    const auto [place, added] = numbers_.try_emplace(key, keys.size() + 1);
    if (added) keys.push_back(key);
    return std::to_string(place->second);
  }
  void set(std::string field, std::string value) { add({"set", std::move(field), std::move(value)}); }
  void erase(std::string field) { add({"del", std::move(field)}); }
  void on(const char* what, const std::string& key, std::string member) {
    add({what, number_of(key), std::move(member)});
  }
  void add(std::initializer_list<std::string> step) { words.insert(words.end(), step); }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace

Result<bool> CatalogChange::commit(const table::Draft& draft, const std::vector<store::AuditEvent>& events) {
  auto kept = keep(draft, events);
  // If the outcome of the change is unknown, the fences stay until they expire.
  if (!kept && kept.error().code == ErrorCode::outcome_unknown) fenced_.clear();
  if (!kept || !*kept) return kept;
  auto fenced = set_fences(fence_stays);
  fenced_.clear();
  if (!fenced) return fenced.error();
  if (auto told = tell_buckets(draft); !told) return told.error();
  return true;
}

/// False: another change was written first.
Result<bool> CatalogChange::keep(const table::Draft& draft, const std::vector<store::AuditEvent>& events) {
  const Names& names = context_.names;
  Steps steps;
  steps.number_of(names.catalog(name_space_));
  Words message;
  std::size_t told = 0;
  message.name(name_space_).number(head_.generation + 1);
  Words fields = message;
  const auto tell = [&](const std::string& field) {
    if (++told <= most_told) fields.text(field);
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

  const std::string said = told <= most_told ? fields.str() : message.str();
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

Result<void> CatalogChange::tell_buckets(const table::Draft& draft) {
  for (const std::string& entity : draft.erased()) {
    if (auto forgotten = forget_buckets(entity); !forgotten) return forgotten;
  }
  for (const auto& [entity, stamps] : new_stamps(draft)) {
    if (auto told = tell_buckets_of(draft, entity, stamps); !told) return told;
  }
  return {};
}

/// The script deletes buckets that count no usage. From the others it keeps acquire.lua away, so that they
/// can be deleted as they were read, together with a write of what they have counted.
Result<void> CatalogChange::forget_buckets(const std::string& entity) {
  const std::string& family = families_[entity];
  std::vector<std::string> words{context_.names.buckets(name_space_, family, entity), "forget",
                                 std::to_string(context_.time.for_scripts())};
  for (const auto& [key, record] : tenant_.limits) {
    const Level level = table::level_of(key);
    if (level.entity() == entity && !level.resource().empty())
      words.insert(words.end(), {level.resource(), "0"});
  }
  for (int attempts = 0; attempts < most_put_attempts; ++attempts) {
    auto reply = BlockingCalls(context_).run(
        Script::touch(), {context_.names.index(name_space_, family, entity)}, words, true);
    if (!reply) return reply.error();
    const Reply list = reply->get();
    auto at = list.children();
    at.next();
    const Time now = at.next().integer().value_or(0);
    bool all = true;
    while (!at.at_end()) {
      const std::string resource(at.next().text());
      const Reply record = at.next();
      auto read = read_bucket(record, entity, resource);
      // What a damaged record has counted is lost with it.
      if (!read) read = ReadBucket{.raw = std::string(record.text()), .bucket = {}, .bad = true};
      auto done = put_bucket(context_, {name_space_, family, entity, resource}, deleting_write(*read), now);
      if (!done) return done.error();
      all = all && *done;
    }
    if (all) return {};
  }
  return error(ErrorCode::contention, "others changed the buckets of ", base::quoted(entity),
               " too often meanwhile; try again");
}

/// Each bucket gets the stamp of its new limits, so that no process with older limits writes to it. Then each
/// adopts the new limits.
Result<void> CatalogChange::tell_buckets_of(const table::Draft& draft, const std::string& entity,
                                            const std::map<std::string, Time>& stamps) {
  const auto of_all = stamps.find("");
  const Time all = of_all == stamps.end() ? 0 : of_all->second;
  const std::string& family = families_[entity];
  std::vector<std::string> words{context_.names.buckets(name_space_, family, entity), std::to_string(all),
                                 std::to_string(context_.time.for_scripts())};
  for (const auto& [resource, stamp] : stamps) {
    if (!resource.empty()) words.insert(words.end(), {resource, std::to_string(stamp)});
  }
  auto reply = BlockingCalls(context_).run(Script::touch(),
                                           {context_.names.index(name_space_, family, entity)}, words, true);
  if (!reply) return reply.error();
  const Reply list = reply->get();
  auto at = list.children();
  at.next();
  const Time now = at.next().integer().value_or(0);
  while (!at.at_end()) {
    const std::string_view resource = at.next().text();
    auto read = read_bucket(at.next(), entity, resource);
    if (!read) {
      // Its own decisions fail. The limits can change.
      context_.bad.report(read.error().message);
      continue;
    }
    const auto own = stamps.find(std::string(resource));
    const Time told = std::max(all, own == stamps.end() ? 0 : own->second);
    if (told == 0) continue;
    if (auto done = adopt(draft, entity, resource, *std::move(read), told, now); !done) return done;
  }
  return {};
}

Result<void> CatalogChange::adopt(const table::Draft& draft, const std::string& entity,
                                  std::string_view resource, ReadBucket read, Time told, Time now) {
  const auto resolution = resolve(draft, entity, resource, now);
  if (!resolution->limits) return {};
  for (int attempts = 0; attempts < most_put_attempts; ++attempts) {
    if (!read.bucket || read.bucket->state.expires_at <= now) return {};
    decision::Chain chain;
    decision::Link& link = chain.add(entity, resolution.get());
    chain.claim(link, read.bucket->state, now);
    if (!decision::must_adopt(link) && read.bucket->stamp >= told) return {};
    StoredBucket next = *read.bucket;
    if (decision::must_adopt(link)) next.state = decision::claimed_state(link, 0);
    next.stamp = std::max(next.stamp, told);
    const bool counts = read.bucket->segment.has_value();
    auto done = put_bucket(context_, {name_space_, families_[entity], entity, resource},
                           counted_write(read, std::move(next), now, counts), now);
    if (!done) return done.error();
    if (*done) return {};
    auto loaded = load_buckets(context_, name_space_, families_[entity], entity, {std::string(resource)});
    if (!loaded) return loaded.error();
    now = loaded->now;
    if (loaded->buckets.front().bad) return {};
    read = std::move(loaded->buckets.front());
  }
  return error(ErrorCode::contention, "others changed the buckets of ", base::quoted(entity),
               " too often meanwhile; try again");
}

}  // namespace weir::redis

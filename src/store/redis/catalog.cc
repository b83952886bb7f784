#include "store/redis/catalog.h"

#include <algorithm>

#include "base/text.h"
#include "limits/names.h"
#include "store/audit.h"
#include "store/redis/catalog_change.h"
#include "store/redis/codec.h"
#include "store/redis/read_call.h"
#include "store/redis/start_up.h"
#include "store/table/draft.h"

namespace weir::redis {

namespace resp = wire::resp;

using base::error;
using limits::LimitsRecordRef;
using table::level_key;

namespace {

Error damaged(std::string_view what) {
  return error(ErrorCode::unavailable, what,
               " in Redis cannot be used; it was written by another version or by hand");
}

/// The entity that a field is about; empty: every one.
std::string_view entity_of(std::string_view field) {
  if (field.starts_with("n ")) return field.substr(2);
  if (!field.starts_with("e ")) return {};
  return field.substr(2, field.find(' ', 2) - 2);
}

}  // namespace

Error damaged_event(std::string_view name_space, std::string_view text) {
  return damaged(base::join("the event ",
                            base::quoted(text.substr(0, std::min<std::size_t>(text.find(' '), 40))),
                            " of the audit in namespace ", base::quoted(name_space)));
}

LimitsRecordRef read_limits(std::string_view name_space, std::string_view key, std::string_view text,
                            store::BadRecords& bad) {
  if (LimitsRecordRef record = decode_limits(text)) return record;
  const std::string what = base::join("the record of limits of ", table::described(table::level_of(key)),
                                      " in namespace ", base::quoted(name_space));
  std::string sentence = damaged(what).message + ". The next level applies; set or delete these limits";
  bad.report(sentence);
  return bad_limits(text, std::move(sentence));
}

Result<Entity> read_entity(std::string_view name_space, std::string_view id, std::string_view text,
                           store::BadRecords& bad) {
  if (auto entity = decode_entity(id, text)) return *std::move(entity);
  Error wrong = damaged(
      base::join("the record of entity ", base::quoted(id), " in namespace ", base::quoted(name_space)));
  wrong.message += ". Put or delete the entity";
  bad.report(wrong.message);
  return wrong;
}

limits::PlanRecordRef read_plan(std::string_view name_space, std::string_view name, std::string_view text,
                                store::BadRecords& bad) {
  if (limits::PlanRecordRef plan = decode_plan(text)) return plan;
  auto record = base::make_ref<limits::PlanRecord>();
  record->bad = damaged(base::join("the record of plan ", base::quoted(name), " in namespace ",
                                   base::quoted(name_space)))
                    .message +
                ". The next level applies; put or delete the plan";
  bad.report(record->bad);
  return limits::PlanRecordRef(record.get());
}

namespace {

/// The command that reads a page of a sorted set: members with this prefix, after the cursor.
std::string page_command(const std::string& key, std::string begins_with, const store::Paging& paging) {
  std::string from = begins_with.empty() ? "-" : "[" + begins_with;
  if (!paging.cursor.empty()) from = "(" + paging.cursor;
  std::string to = "+";
  if (!begins_with.empty()) {
    // Up to the first text without the prefix.
    ++begins_with.back();
    to = "(" + begins_with;
  }
  // One more than asked for, to know whether there is a next page.
  const std::string most = std::to_string(paging.limit + 1);
  return resp::command({"ZRANGEBYLEX", key, from, to, "LIMIT", "0", most});
}

}  // namespace

/// Reads what a resolution needs, in one command. If the entity has a plan that was not asked for, a second
/// command reads everything with the plan, so that all of it is of one moment.
class Lookup final : public net::RedisCall {
 public:
  Lookup(RedisCatalog& catalog, std::string_view name_space, std::string_view entity,
         std::string_view resource, store::Completion<store::Found> done)
      : catalog_(catalog), name_space_(name_space), entity_(entity), resource_(resource), done_(done) {
    const std::string key = catalog.context_.names.catalog(name_space);
    slot = catalog.context_.cluster ? static_cast<int>(resp::slot_of(key)) : -1;
    repeatable = true;
  }
  void start() {
    ticket_ = catalog_.cache_.reading({name_space_, entity_, resource_});
    ask();
  }

 private:
  void ask() {
    const std::string key = catalog_.context_.names.catalog(name_space_);
    const std::string& plan = ticket_.plan;
    command.clear();
    resp::append_command(command, plan.empty() ? 8 : 9);
    resp::append_word(command, std::string_view("HMGET"));
    resp::append_word(command, key);
    resp::append_word(command, std::string_view("generation"));
    resp::append_word(command, base::join("n ", entity_));
    for (const Source level : limits::recorded_levels)
      resp::append_word(command, level_key(level, entity_, resource_));
    if (!plan.empty()) resp::append_word(command, base::join("p ", plan));
    catalog_.context_.send(*this);
  }
  void on_reply(const Reply& reply) override {
    if (reply.is_error()) return finish(error_of(reply.text(), false));
    if (!reply.is_list()) return finish(damaged("the catalog"));
    auto at = reply.children();
    store::Found found;
    // Counted from 1, so that 0 means none.
    found.generation = static_cast<std::uint64_t>(at.next().integer().value_or(0)) + 1;
    if (const std::string_view text = at.next().text(); !text.empty()) {
      const auto entity = read_entity(name_space_, entity_, text, catalog_.context_.bad);
      if (!entity) return finish(entity.error());
      found.take(*entity);
    }
    if (!found.plan.empty() && found.plan != ticket_.plan && ++overtaken_ < most_overtaken) {
      ticket_.plan = found.plan;
      return ask();
    }
    for (const Source level : limits::recorded_levels) {
      const std::string_view text = at.next().text();
      if (text.empty()) continue;
      found.levels.at(level) =
          read_limits(name_space_, level_key(level, entity_, resource_), text, catalog_.context_.bad);
    }
    if (!found.plan.empty()) read_plan_of(found, found.plan == ticket_.plan ? at.next().text() : "");
    if (!catalog_.cache_.learn({name_space_, entity_, resource_}, found, ticket_) &&
        ++overtaken_ < most_overtaken)
      return start();
    found.now = catalog_.context_.time.now();
    finish(std::move(found));
  }
  void read_plan_of(store::Found& found, std::string_view text) {
    store::BadRecords& bad = catalog_.context_.bad;
    if (text.empty()) return bad.report(table::missing_plan(name_space_, entity_, found.plan));
    found.levels.set_plan(read_plan(name_space_, found.plan, text, bad).get(), resource_);
  }
  void on_failure(const net::RedisFailure& failure) override { finish(error_of({false, failure.why})); }
  void finish(Result<store::Found> result) {
    const auto done = done_;
    delete this;
    done(std::move(result));
  }

  RedisCatalog& catalog_;
  const std::string name_space_;
  const std::string entity_;
  const std::string resource_;
  remote::CatalogCache::Ticket ticket_;
  static constexpr int most_overtaken = 10;
  int overtaken_ = 0;
  store::Completion<store::Found> done_;
};

void RedisCatalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                        store::Completion<store::Found> done) {
  if (auto known = cache_.find({name_space, entity, resource})) {
    known->now = context_.time.now();
    return done(*std::move(known));
  }
  (new Lookup(*this, name_space, entity, resource, done))->start();
}

void RedisCatalog::on_connected() {
  context_.time.forget();
  context_.exhausted.forget_all();
  if (context_.start_up != nullptr) context_.start_up->read();
}

void RedisCatalog::on_message(std::string_view message) {
  context_.exhausted.forget_all();
  WordReader reader(message);
  const std::string name_space(reader.name());
  const std::int64_t generation = reader.number();
  std::vector<std::string> fields;
  while (!reader.at_end() && !reader.failed()) fields.push_back(reader.text());
  if (reader.failed()) return cache_.forget_all();
  std::vector<std::string_view> entities;
  for (const std::string& field : fields) entities.push_back(entity_of(field));
  cache_.changed(name_space, static_cast<std::uint64_t>(generation) + 1, entities);
}

Result<RedisCatalog::Fields> RedisCatalog::read_fields(std::string_view name_space,
                                                       const std::vector<std::string>& fields) {
  Fields values;
  if (fields.empty()) return values;
  const std::string key = context_.names.catalog(name_space);
  std::string command;
  resp::append_command(command, fields.size() + 2);
  resp::append_word(command, std::string_view("HMGET"));
  resp::append_word(command, key);
  for (const std::string& field : fields) resp::append_word(command, field);
  auto reply = BlockingCalls(context_).ask(key, std::move(command));
  if (!reply) return reply.error();
  const Reply list = reply->get();
  if (!list.is_list()) return damaged("the catalog");
  auto at = list.children();
  for (const std::string& field : fields) {
    const Reply value = at.next();
    if (!value.is_null()) values[field] = value.text();
  }
  return values;
}

Result<std::string> RedisCatalog::family_of(std::string_view name_space, std::string_view entity) {
  std::string at(entity);
  if (!context_.cluster) return at;
  for (std::size_t i = 0; i < limits::max_chain; ++i) {
    const std::string field = "n " + at;
    auto found = read_fields(name_space, {field});
    if (!found) return found.error();
    const auto text = found->find(field);
    if (text == found->end()) break;
    const auto read = read_entity(name_space, at, text->second, context_.bad);
    if (!read) return read.error();
    if (!read->cascade || read->parent.empty()) break;
    at = read->parent;
  }
  return at;
}

Result<void> RedisCatalog::require_client(int version) {
  constexpr const char* raise =
      "if tonumber(redis.call('HGET', KEYS[1], 'format')) < tonumber(ARGV[1]) then "
      "redis.call('HSET', KEYS[1], 'format', ARGV[1]) end return 1";
  const std::string key = context_.names.store();
  auto raised = BlockingCalls(context_).ask(
      key, resp::command({"EVAL", raise, "1", key, std::to_string(version)}), true);
  if (!raised) return raised.error();
  return {};
}

Result<std::vector<store::Changed>> RedisCatalog::make_changes(const store::Changes& changes) {
  auto changed = CatalogChange(*this, changes).run();
  context_.exhausted.forget_all();
  return changed;
}

void RedisCatalog::limits(std::string_view name_space, const Level& level,
                          store::Completion<LimitsRecordRef> done) {
  const std::string key = context_.names.catalog(name_space);
  const auto take = [this, name_space = std::string(name_space),
                     level](const Result<Reply>& reply) -> Result<LimitsRecordRef> {
    const auto record = [&]() -> Result<LimitsRecordRef> {
      if (!reply) return reply.error();
      if (reply->is_null()) return LimitsRecordRef();
      return read_limits(name_space, level_key(level), reply->text(), context_.bad);
    };
    return limits_of(name_space, level, record());
  };
  read<LimitsRecordRef>(context_, key, resp::command({"HGET", key, level_key(level)}), done, take);
}

Result<store::Page<std::string>> RedisCatalog::list(std::string_view name_space,
                                                    const remote::Listing& listing,
                                                    const store::Paging& paging) {
  using Of = remote::Listing::Of;
  const Names& names = context_.names;
  const std::string key = listing.of == Of::limits     ? names.limits(name_space)
                          : listing.of == Of::entities ? names.entities(name_space)
                          : listing.of == Of::plans    ? names.plans(name_space)
                          : listing.of == Of::members  ? names.members(name_space, listing.owner)
                                                       : names.children(name_space, listing.owner);
  auto reply = BlockingCalls(context_).ask(key, page_command(key, listing.begins_with, paging));
  if (!reply) return reply.error();
  store::Page<std::string> page;
  for (const std::string_view text : reply->get().texts()) {
    if (!remote::add(page, paging.limit, std::string(text), std::identity())) break;
  }
  if (listing.of != Of::children) return page;
  auto kept = keep_children(name_space, listing.owner, page.items);
  if (!kept) return kept.error();
  return page;
}

/// A record that could not be used did not tell whose child the entity was, so that the put or the delete
/// that replaced it left the entity in the list of its old parent. One that still cannot be used may be a
/// child.
Result<void> RedisCatalog::keep_children(std::string_view name_space, const std::string& parent,
                                         std::vector<std::string>& ids) {
  auto entities = entities_by_id(name_space, {ids.begin(), ids.end()});
  if (!entities) return entities.error();
  std::erase_if(ids, [&](const std::string& id) {
    const auto found = entities->find(id);
    return found == entities->end() || (found->second && found->second->parent != parent);
  });
  return {};
}

Result<std::map<std::string, LimitsRecordRef>> RedisCatalog::limits_by_key(
    std::string_view name_space, const std::set<std::string>& keys) {
  auto values = read_fields(name_space, {keys.begin(), keys.end()});
  if (!values) return values.error();
  std::map<std::string, LimitsRecordRef> records;
  for (const auto& [key, text] : *values) records[key] = read_limits(name_space, key, text, context_.bad);
  return records;
}

Result<remote::Catalog::EntitiesById> RedisCatalog::entities_by_id(std::string_view name_space,
                                                                   const std::set<std::string>& ids) {
  std::vector<std::string> fields;
  for (const std::string& id : ids) fields.push_back("n " + id);
  auto values = read_fields(name_space, fields);
  if (!values) return values.error();
  EntitiesById entities;
  for (const auto& [field, text] : *values) {
    const std::string id = field.substr(2);
    entities.emplace(id, read_entity(name_space, id, text, context_.bad));
  }
  return entities;
}

Result<remote::Catalog::PlansByName> RedisCatalog::plans_by_name(std::string_view name_space,
                                                                 const std::set<std::string>& names) {
  std::vector<std::string> fields;
  for (const std::string& name : names) fields.push_back("p " + name);
  auto values = read_fields(name_space, fields);
  if (!values) return values.error();
  PlansByName plans;
  for (const auto& [field, text] : *values) {
    const std::string name = field.substr(2);
    plans.emplace(name, read_plan(name_space, name, text, context_.bad));
  }
  return plans;
}

Result<void> RedisCatalog::for_each_event(std::string_view name_space, std::string_view subject,
                                          const store::Paging& paging,
                                          const std::function<bool(store::AuditEvent event)>& visit) {
  const std::string key =
      subject.empty() ? context_.names.audit(name_space) : context_.names.audit_of(name_space, subject);
  std::string from = paging.cursor.empty() ? "+" : "(" + paging.cursor;
  const std::string most = std::to_string(paging.limit + 1);
  for (;;) {
    auto reply = BlockingCalls(context_).ask(
        key, resp::command({"ZREVRANGEBYLEX", key, from, "-", "LIMIT", "0", most}));
    if (!reply) return reply.error();
    bool any_bad = false;
    const std::vector<std::string_view> texts = reply->get().texts();
    for (const std::string_view text : texts) {
      auto event = decode_event(text);
      if (event) {
        if (!visit(*std::move(event))) return {};
        continue;
      }
      any_bad = true;
      context_.bad.report(damaged_event(name_space, text).message);
    }
    // Events that cannot be used leave room in the page.
    if (!any_bad || texts.size() <= paging.limit) return {};
    from = base::join("(", texts.back());
  }
}

Time RedisCatalog::keep_audit_for() const {
  return context_.start_up == nullptr ? store::keep_audit_for_by_default
                                      : context_.start_up->keep_audit_for();
}

}  // namespace weir::redis

#include "store/redis/catalog.h"

#include "base/text.h"
#include "limits/names.h"
#include "store/audit.h"
#include "store/redis/catalog_change.h"
#include "store/redis/codec.h"
#include "store/redis/opening.h"
#include "store/redis/reading.h"
#include "store/table/draft.h"

namespace weir::redis {

namespace resp = wire::resp;

using base::error;
using base::quoted;
using limits::LimitsRecordRef;
using table::level_key;

namespace {

/// What a page of a sorted set is read with: everything behind the cursor.
std::string behind(const std::string& cursor) { return cursor.empty() ? "-" : "(" + cursor; }

Error damaged(std::string_view what) {
  return error(ErrorCode::unavailable, what,
               " in Redis cannot be read; it was written by another version or by hand");
}

}  // namespace

/// Reads what a resolution needs, in one command.
class Lookup final : public net::RedisCall {
 public:
  Lookup(RedisCatalog& catalog, std::string_view name_space, std::string_view entity,
         std::string_view resource, store::Completion<store::Found> done)
      : catalog_(catalog), name_space_(name_space), entity_(entity), resource_(resource), done_(done) {
    for (std::size_t i = 0; i < fields_.size(); ++i)
      fields_[i] = level_key(static_cast<Source>(i), entity, resource);
    const std::string key = catalog.site_.names.catalog(name_space);
    command = resp::command({"HMGET", key, "generation", base::join("n ", entity), fields_[0], fields_[1],
                             fields_[2], fields_[3]});
    slot = catalog.site_.cluster ? static_cast<int>(resp::slot_of(key)) : -1;
    repeatable = true;
  }
  void start() { catalog_.site_.send(*this); }

 private:
  void on_reply(const Reply& reply) override {
    if (reply.is_error()) return finish(error_of(reply.text(), false));
    if (!reply.is_list()) return finish(damaged("the catalog"));
    auto at = reply.children();
    // Counted from 1, so that 0 can stand for nothing.
    const auto generation = static_cast<std::uint64_t>(at.next().integer().value_or(0)) + 1;
    store::Found found;
    if (const std::string_view text = at.next().text(); !text.empty()) {
      const auto entity = decode_entity(entity_, text);
      if (!entity) return finish(damaged("an entity"));
      if (entity->cascade) found.parent = entity->parent;
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view text = at.next().text();
      found.levels[i] = catalog_.cache_.record(name_space_, fields_[i], text);
      if (!text.empty() && !found.levels[i]) return finish(damaged("a record of limits"));
    }
    const auto current = catalog_.cache_.add(name_space_, entity_, resource_, generation, found);
    if (!current && ++overtaken_ < 10) return start();
    found.generation = current.value_or(generation);
    found.now = catalog_.site_.time.now();
    finish(std::move(found));
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
  std::array<std::string, 4> fields_;
  int overtaken_ = 0;
  store::Completion<store::Found> done_;
};

void RedisCatalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                        store::Completion<store::Found> done) {
  if (auto known = cache_.find(name_space, entity, resource)) {
    known->now = site_.time.now();
    return done(*std::move(known));
  }
  (new Lookup(*this, name_space, entity, resource, done))->start();
}

void RedisCatalog::on_connected() {
  site_.time.forget();
  site_.spent.forget_all();
  if (site_.opening != nullptr) site_.opening->read();
}

void RedisCatalog::on_message(std::string_view message) {
  site_.spent.forget_all();
  WordReader reader(message);
  const std::string name_space(reader.name());
  const std::int64_t generation = reader.number();
  std::vector<std::string> fields;
  while (!reader.at_end() && !reader.failed()) fields.push_back(reader.text());
  if (reader.failed()) return cache_.forget_all();
  cache_.changed(name_space, static_cast<std::uint64_t>(generation) + 1, fields);
}

Result<RedisCatalog::Fields> RedisCatalog::read_fields(std::string_view name_space,
                                                       const std::vector<std::string>& fields) {
  Fields values;
  if (fields.empty()) return values;
  const std::string key = site_.names.catalog(name_space);
  std::string command;
  resp::append_command(command, fields.size() + 2);
  resp::append_word(command, std::string_view("HMGET"));
  resp::append_word(command, key);
  for (const std::string& field : fields) resp::append_word(command, field);
  auto reply = Asking(site_).ask(key, std::move(command));
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
  if (!site_.cluster) return at;
  for (std::size_t i = 0; i < limits::max_chain; ++i) {
    const std::string field = "n " + at;
    auto found = read_fields(name_space, {field});
    if (!found) return found.error();
    const auto text = found->find(field);
    if (text == found->end()) break;
    const auto read = decode_entity(at, text->second);
    if (!read) return damaged("an entity");
    if (!read->cascade || read->parent.empty()) break;
    at = read->parent;
  }
  return at;
}

void RedisCatalog::change(const store::Changes& changes,
                          store::Completion<std::vector<store::Changed>> done) {
  if (auto may = check_may_wait(site_); !may) return done(may.error());
  Result<std::vector<store::Changed>> changed = [&] {
    const std::scoped_lock lock(changing_);
    return CatalogChange(*this, changes).run();
  }();
  site_.spent.forget_all();
  done(std::move(changed));
}

void RedisCatalog::limits(std::string_view name_space, const Level& level,
                          store::Completion<LimitsRecordRef> done) {
  const std::string key = site_.names.catalog(name_space);
  const std::string field = level_key(level);
  read<LimitsRecordRef>(site_, key, resp::command({"HGET", key, field}), done,
                        [this, name_space = std::string(name_space), level](const Result<Reply>& reply) {
                          return limits_of(name_space, level, reply);
                        });
}

Result<LimitsRecordRef> RedisCatalog::limits_of(const std::string& name_space, const Level& level,
                                                const Result<Reply>& reply) {
  const std::string field = level_key(level);
  if (!reply) {
    // What to do while the store is away is said here, so the last word counts.
    const bool away = reply.error().code == ErrorCode::unavailable && level.kind() == Source::system;
    const LimitsRecordRef last = away ? cache_.last_record(name_space, field) : LimitsRecordRef();
    if (last && !last->absent(site_.time.now())) return last;
    return reply.error();
  }
  LimitsRecordRef record;
  if (!reply->is_null()) {
    record = cache_.record(name_space, field, reply->text());
    if (!record) return damaged("a record of limits");
  }
  if (!record || record->absent(site_.time.now()))
    return error(ErrorCode::not_found, "no limits are set for ", table::described(level));
  return record;
}

std::string RedisCatalog::page_command(const std::string& key, const store::Paging& paging) {
  // One more than asked for, to know whether there is a next page.
  const std::string most = std::to_string(paging.limit + 1);
  return resp::command({"ZRANGEBYLEX", key, behind(paging.cursor), "+", "LIMIT", "0", most});
}

store::Page<std::string> RedisCatalog::page_of(const Reply& reply, std::size_t limit) {
  store::Page<std::string> page;
  for (const std::string_view text : reply.texts()) {
    if (page.items.size() == limit) {
      page.next = page.items.back();
      break;
    }
    page.items.emplace_back(text);
  }
  return page;
}

Result<store::Page<std::string>> RedisCatalog::page_now(const std::string& key, const store::Paging& paging) {
  auto reply = Asking(site_).ask(key, page_command(key, paging));
  if (!reply) return reply.error();
  return page_of(reply->get(), paging.limit);
}

void RedisCatalog::list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                               const store::Paging& paging,
                               store::Completion<store::Page<store::StoredLimitsItem>> done) {
  done(list_limits_now(name_space, filter, paging));
}

Result<store::Page<store::StoredLimitsItem>> RedisCatalog::list_limits_now(std::string_view name_space,
                                                                           const store::LimitsFilter& filter,
                                                                           const store::Paging& paging) {
  const Time now = site_.time.now();
  store::Page<store::StoredLimitsItem> page;
  store::Paging at = paging;
  std::string last;
  for (;;) {
    auto keys = page_now(site_.names.limits(name_space), at);
    if (!keys) return keys.error();
    auto values = read_fields(name_space, keys->items);
    if (!values) return values.error();
    for (const std::string& key : keys->items) {
      if (page.items.size() == paging.limit) {
        page.next = last;
        return page;
      }
      const LimitsRecordRef record = decode_limits((*values)[key]);
      if (!record || record->absent(now) || (filter.owner && record->owner != *filter.owner)) continue;
      Level level = table::level_of(key);
      if (filter.level && level.kind() != *filter.level) continue;
      page.items.push_back({std::move(level), record});
      last = key;
    }
    if (keys->next.empty()) return page;
    at.cursor = keys->next;
    if (page.items.size() == paging.limit) {
      page.next = last;
      return page;
    }
  }
}

void RedisCatalog::entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) {
  const std::string key = site_.names.catalog(name_space);
  read<Entity>(site_, key, resp::command({"HGET", key, base::join("n ", id)}), done,
               [id = std::string(id)](const Result<Reply>& reply) -> Result<Entity> {
                 if (!reply) return reply.error();
                 if (reply->is_null())
                   return error(ErrorCode::not_found, "entity ", quoted(id), " does not exist");
                 auto entity = decode_entity(id, reply->text());
                 if (!entity) return damaged("an entity");
                 return *std::move(entity);
               });
}

void RedisCatalog::children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                            store::Completion<store::Page<std::string>> done) {
  const std::string key = site_.names.children(name_space, id);
  read<store::Page<std::string>>(
      site_, key, page_command(key, paging), done,
      [limit = paging.limit](const Result<Reply>& reply) -> Result<store::Page<std::string>> {
        if (!reply) return reply.error();
        return page_of(*reply, limit);
      });
}

void RedisCatalog::entities(std::string_view name_space, const store::Paging& paging,
                            store::Completion<store::Page<Entity>> done) {
  done(entities_now(name_space, paging));
}

Result<store::Page<Entity>> RedisCatalog::entities_now(std::string_view name_space,
                                                       const store::Paging& paging) {
  auto ids = page_now(site_.names.entities(name_space), paging);
  if (!ids) return ids.error();
  std::vector<std::string> fields;
  for (const std::string& id : ids->items) fields.push_back("n " + id);
  auto values = read_fields(name_space, fields);
  if (!values) return values.error();
  store::Page<Entity> page;
  page.next = ids->next;
  for (const std::string& id : ids->items) {
    const auto text = values->find("n " + id);
    // Deleted since the page was read.
    if (text == values->end()) continue;
    auto entity = decode_entity(id, text->second);
    if (!entity) return damaged("an entity");
    page.items.push_back(*std::move(entity));
  }
  return page;
}

void RedisCatalog::audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
                         store::Completion<store::Page<store::AuditEvent>> done) {
  const Time oldest = site_.time.now() - keep_audit_for();
  const std::string key =
      subject.empty() ? site_.names.audit(name_space) : site_.names.audit_of(name_space, subject);
  const std::string from = paging.cursor.empty() ? "+" : "(" + paging.cursor;
  const std::string most = std::to_string(paging.limit + 1);
  read<store::Page<store::AuditEvent>>(
      site_, key, resp::command({"ZREVRANGEBYLEX", key, from, "-", "LIMIT", "0", most}), done,
      [oldest, limit = paging.limit](const Result<Reply>& reply) -> Result<store::Page<store::AuditEvent>> {
        if (!reply) return reply.error();
        store::Page<store::AuditEvent> page;
        for (const std::string_view text : reply->texts()) {
          auto event = decode_event(text);
          if (!event) return damaged("the audit");
          if (event->at <= oldest) continue;
          if (page.items.size() == limit) {
            page.next = page.items.back().id;
            break;
          }
          page.items.push_back(*std::move(event));
        }
        return page;
      });
}

Time RedisCatalog::keep_audit_for() const {
  return site_.opening == nullptr ? store::keep_audit_for_by_default : site_.opening->keep_audit_for();
}

}  // namespace weir::redis

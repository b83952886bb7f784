// What a change of the catalog depends on: who and what it names, everybody above and below, and the buckets
// that it concerns.
#include "base/text.h"
#include "limits/names.h"
#include "store/redis/catalog_change.h"
#include "store/redis/codec.h"
#include "store/table/draft.h"

namespace weir::redis {

namespace resp = wire::resp;

using base::error;
using table::level_key;

namespace {

Error damaged() {
  return error(ErrorCode::unavailable,
               "the catalog in Redis cannot be read; it was written by another version or by hand");
}

}  // namespace

void CatalogChange::collect() {
  for (const store::Change& change : changes_.changes) {
    if (const auto* write = std::get_if<store::LimitsWrite>(&change)) {
      concern_.levels.insert(level_key(write->level));
      if (!write->level.entity().empty()) concern_.limited.insert(write->level.entity());
    } else if (const auto* put = std::get_if<store::EntityPut>(&change)) {
      concern_.put.insert(put->entity.id);
    } else {
      concern_.erased.insert(std::get<store::EntityErase>(change).id);
    }
  }
}

Result<void> CatalogChange::read_time() {
  now_ = site_.time.now();
  if (site_.time.for_tests()) return {};
  auto reply = Asking(site_).ask(site_.names.catalog(name_space_), resp::command({"TIME"}));
  if (!reply) return reply.error();
  const Reply time = reply->get();
  auto at = time.children();
  const Time seconds = at.next().integer().value_or(0);
  now_ = seconds * 1000 + at.next().integer().value_or(0) / 1000;
  site_.time.learn(now_);
  return {};
}

Result<void> CatalogChange::read_counters() {
  auto found = catalog_.read_fields(name_space_, {"generation", "stamp", "sequence", "audited"});
  if (!found) return found.error();
  const auto number = [&](const char* field) {
    const auto at = found->find(field);
    return at == found->end() ? 0 : base::parse_digits(at->second).value_or(0);
  };
  generation_ = number("generation");
  stamp_ = number("stamp");
  sequence_ = number("sequence");
  audited_to_ = number("audited");
  return {};
}

Result<void> CatalogChange::read_levels(const std::set<std::string>& keys) {
  auto found = catalog_.read_fields(name_space_, {keys.begin(), keys.end()});
  if (!found) return found.error();
  for (const auto& [key, text] : *found) {
    const auto record = decode_limits(text);
    if (!record) return damaged();
    tenant_.limits[key] = record;
  }
  return {};
}

Result<void> CatalogChange::read_levels_of_erased() {
  std::set<std::string> keys;
  const std::string listing = site_.names.limits(name_space_);
  for (const std::string& id : concern_.erased) {
    // Every key of the entity, and only those, has a space behind its name.
    const std::string from = base::join("[e ", id, " ");
    const std::string to = base::join("(e ", id, "!");
    auto reply = Asking(site_).ask(listing, resp::command({"ZRANGEBYLEX", listing, from, to}));
    if (!reply) return reply.error();
    for (const std::string_view key : reply->get().texts()) keys.emplace(key);
  }
  return read_levels(keys);
}

Result<std::vector<std::string>> CatalogChange::members(const std::string& key) {
  auto reply = Asking(site_).ask(key, resp::command({"ZRANGE", key, "0", "-1"}));
  if (!reply) return reply.error();
  std::vector<std::string> members;
  for (const std::string_view text : reply->get().texts()) members.emplace_back(text);
  return members;
}

Result<void> CatalogChange::read_entities(const std::set<std::string>& ids) {
  std::vector<std::string> fields;
  for (const std::string& id : ids) {
    if (looked_up_.insert(id).second) fields.push_back("n " + id);
  }
  auto found = catalog_.read_fields(name_space_, fields);
  if (!found) return found.error();
  for (const auto& [field, text] : *found) {
    const std::string id = field.substr(2);
    auto entity = decode_entity(id, text);
    if (!entity) return damaged();
    tenant_.entities[id] = *std::move(entity);
  }
  return {};
}

/// The entities that are put or erased, everybody above them before and after, and everybody below.
Result<void> CatalogChange::read_family_trees() {
  std::set<std::string> above;
  std::set<std::string> below;
  for (const store::Change& change : changes_.changes) {
    const auto* const put = std::get_if<store::EntityPut>(&change);
    if (put != nullptr && !put->entity.parent.empty()) above.insert(put->entity.parent);
  }
  above.insert(concern_.put.begin(), concern_.put.end());
  above.insert(concern_.erased.begin(), concern_.erased.end());
  below = above;
  while (!above.empty()) {
    if (auto read = read_entities(above); !read) return read;
    std::set<std::string> next;
    for (const std::string& id : above) {
      const auto found = tenant_.entities.find(id);
      if (found == tenant_.entities.end() || found->second.parent.empty()) continue;
      if (!looked_up_.contains(found->second.parent)) next.insert(found->second.parent);
    }
    above = std::move(next);
  }
  std::set<std::string> seen;
  below.clear();
  below.insert(concern_.put.begin(), concern_.put.end());
  below.insert(concern_.erased.begin(), concern_.erased.end());
  while (!below.empty()) {
    std::set<std::string> next;
    for (const std::string& id : below) {
      if (!seen.insert(id).second) continue;
      auto children = members(site_.names.children(name_space_, id));
      if (!children) return children.error();
      next.insert(children->begin(), children->end());
    }
    if (auto read = read_entities(next); !read) return read;
    below = std::move(next);
  }
  for (const auto& [id, entity] : tenant_.entities) {
    if (!entity.parent.empty()) tenant_.children[entity.parent].insert(id);
  }
  return {};
}

/// Where the buckets of the entities lie, and what holds for those that take over new limits.
Result<void> CatalogChange::read_buckets() {
  for (const auto* const ids : {&concern_.limited, &concern_.put, &concern_.erased}) {
    for (const std::string& entity : *ids) {
      auto family = catalog_.family_of(name_space_, entity);
      if (!family) return family.error();
      families_[entity] = *std::move(family);
    }
  }
  for (const std::string& entity : concern_.limited) {
    if (auto read = read_levels_of_buckets(entity); !read) return read;
  }
  return {};
}

/// What holds for the buckets of an entity is not only what changes.
Result<void> CatalogChange::read_levels_of_buckets(const std::string& entity) {
  auto resources = members(site_.names.index(name_space_, families_[entity], entity));
  if (!resources) return resources.error();
  std::set<std::string> levels;
  for (const std::string& resource : *resources) {
    for (std::size_t i = 0; i < 4; ++i) levels.insert(level_key(static_cast<Source>(i), entity, resource));
  }
  return read_levels(levels);
}

Result<bool> CatalogChange::has_bucket(const std::string& entity) {
  const std::string& family = families_[entity];
  auto resources = members(site_.names.index(name_space_, family, entity));
  if (!resources) return resources.error();
  if (resources->empty()) return false;
  std::vector<std::string> keys;
  for (const std::string& resource : *resources)
    keys.push_back(site_.names.bucket(name_space_, family, entity, resource));
  auto reply =
      Asking(site_).run(Script::load(), keys, {std::to_string(site_.time.for_scripts()), "0"}, false);
  if (!reply) return reply.error();
  const Reply list = reply->get();
  auto at = list.children();
  at.next();
  const Time now = at.next().integer().value_or(0);
  for (const std::string& resource : *resources) {
    auto read = read_bucket(at.next(), entity, resource);
    if (!read) return read.error();
    if (read->bucket && read->bucket->state.expires_at > now) return true;
  }
  return false;
}

/// In a cluster a bucket lies where its chain ends. An entity that moves would take its descendants' buckets
/// to another node.
Result<void> CatalogChange::check_descendants() {
  if (!site_.cluster || concern_.put.empty()) return {};
  std::set<std::string> moving;
  for (const store::Change& change : changes_.changes) {
    const auto* const put = std::get_if<store::EntityPut>(&change);
    if (put == nullptr) continue;
    const auto old = tenant_.entities.find(put->entity.id);
    const bool known = old != tenant_.entities.end();
    if (put->entity.parent != (known ? old->second.parent : std::string()) ||
        put->entity.cascade != (known && old->second.cascade))
      moving.insert(put->entity.id);
  }
  for (const auto& [id, entity] : tenant_.entities) {
    std::string above = entity.cascade ? entity.parent : std::string();
    for (std::size_t i = 0; i < limits::max_chain && !above.empty(); ++i) {
      if (moving.contains(above)) {
        auto family = catalog_.family_of(name_space_, id);
        if (!family) return family.error();
        families_[id] = *std::move(family);
        auto has = has_bucket(id);
        if (!has) return has.error();
        if (!*has) break;
        return error(ErrorCode::conflict, "entity ", base::quoted(id), " below ", base::quoted(above),
                     " has buckets, which in a cluster lie where its chain ends; delete it first, or wait "
                     "until they expire");
      }
      const auto next = tenant_.entities.find(above);
      const bool goes_on = next != tenant_.entities.end() && next->second.cascade;
      above = goes_on ? next->second.parent : std::string();
    }
  }
  return {};
}

}  // namespace weir::redis

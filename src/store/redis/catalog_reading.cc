// Reads the records that a change of the catalog in Redis depends on, and sets the fences that keep buckets
// from being created meanwhile.
#include "base/text.h"
#include "limits/names.h"
#include "store/redis/catalog_change.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

/// The lifetime of a fence, for a process that dies in the middle of a move.
constexpr std::chrono::seconds while_moving{15};

}  // namespace

Result<bool> CatalogChange::begin() {
  families_.clear();
  if (auto read = read_clock(); !read) return read.error();
  auto found = catalog_.read_fields(name_space_, {"generation", "stamp", "sequence", "audited"});
  if (!found) return found.error();
  std::optional<Error> wrong;
  const auto number = [&](const char* field) -> std::int64_t {
    const auto at = found->find(field);
    if (at == found->end()) return 0;
    const auto read = base::parse_digits(at->second);
    if (read && *read <= limits::latest_stamp) return *read;
    wrong = base::error(ErrorCode::unavailable, "the field ", field, " of the catalog of namespace ",
                        base::quoted(name_space_),
                        " in Redis is no number that weir writes, so nothing can be changed; set it right");
    return 0;
  };
  head_ = {number("generation"), number("stamp"), number("sequence"), number("audited")};
  if (!wrong) return true;
  context_.bad.report(wrong->message);
  return *wrong;
}

Result<void> CatalogChange::read_clock() {
  now_ = context_.time.now();
  if (context_.time.for_tests()) return {};
  auto reply = BlockingCalls(context_).ask(context_.names.catalog(name_space_), resp::command({"TIME"}));
  if (!reply) return reply.error();
  const Reply time = reply->get();
  auto at = time.children();
  now_ = read_time(at);
  context_.time.learn(now_);
  return {};
}

Result<void> CatalogChange::find_family(const std::string& entity) {
  auto family = catalog_.family_of(name_space_, entity);
  if (!family) return family.error();
  families_[entity] = *std::move(family);
  return {};
}

/// The families that chains leave: those of entities whose parent or cascade changes, as they were before.
Result<void> CatalogChange::fence(const table::Draft& draft) {
  std::vector<std::string> leaving = draft.moved();
  leaving.insert(leaving.end(), draft.erased().begin(), draft.erased().end());
  for (const std::string& id : leaving) {
    if (auto found = find_family(id); !found) return found;
    fenced_.insert(std::string(context_.family(id, families_[id])));
  }
  return set_fences(while_moving);
}

/// From here on no process creates a bucket in these families by the old chain. 0: removes the fences.
Result<void> CatalogChange::set_fences(std::chrono::milliseconds stay) {
  // Generations are counted from 1 in plans.
  const std::string generation = std::to_string(head_.generation + 2);
  for (const std::string& family : fenced_) {
    auto reply = BlockingCalls(context_).run(Script::fence(), {context_.names.fence(name_space_, family)},
                                             {generation, word_, std::to_string(stay.count())}, true);
    if (!reply) return reply.error();
  }
  return {};
}

void CatalogChange::unfence(bool /*starts_over*/) {
  // Fences that cannot be removed expire.
  (void)set_fences(std::chrono::milliseconds(0));
  fenced_.clear();
}

Result<void> CatalogChange::read_buckets(const table::Draft& draft) {
  std::vector<std::string> entities;
  std::vector<std::pair<std::string, std::string>> commands;
  for (const auto& [entity, stamps] : new_stamps(draft)) {
    if (auto found = find_family(entity); !found) return found;
    entities.push_back(entity);
    const std::string key = context_.names.index(name_space_, families_[entity], entity);
    commands.emplace_back(key, resp::command({"ZRANGE", key, "0", "-1"}));
  }
  auto replies = BlockingCalls(context_).ask_all(std::move(commands));
  if (!replies) return replies.error();
  ResourcesOfEntities resources;
  for (std::size_t i = 0; i < entities.size(); ++i) {
    const auto texts = (*replies)[i].get().texts();
    resources.emplace(std::move(entities[i]), std::vector<std::string>(texts.begin(), texts.end()));
  }
  return read_levels_of(resources);
}

Result<std::vector<std::string>> CatalogChange::resources_of(const std::string& entity) {
  const std::string key = context_.names.index(name_space_, families_[entity], entity);
  auto reply = BlockingCalls(context_).ask(key, resp::command({"ZRANGE", key, "0", "-1"}));
  if (!reply) return reply.error();
  const auto texts = reply->get().texts();
  return std::vector<std::string>(texts.begin(), texts.end());
}

Result<bool> CatalogChange::has_bucket(const std::string& entity) {
  auto resources = resources_of(entity);
  if (!resources) return resources.error();
  auto loaded = load_buckets(context_, name_space_, families_[entity], entity, *resources);
  if (!loaded) return loaded.error();
  for (std::size_t i = 0; i < resources->size(); ++i) {
    if (loaded->alive(i) != nullptr || loaded->buckets[i].bad) return true;
  }
  return false;
}

/// In a cluster a bucket lies in the slot of the last entity of its chain. Moving an entity would move its
/// descendants' buckets to another node.
Result<void> CatalogChange::check_moved(const table::Draft& draft) {
  if (auto may = remote::CatalogChange::check_moved(draft); !may || !context_.cluster) return may;
  const std::vector<std::string> moved = draft.moved();
  const std::set<std::string> moving(moved.begin(), moved.end());
  if (auto read = read_children(moving, true); !read) return read;
  std::set<std::string> below;
  for (const auto& [id, children] : tenant_.children) below.insert(children.begin(), children.end());
  if (auto read = read_entities(below); !read) return read;
  for (const auto& [id, entity] : tenant_.entities) {
    std::string above = entity.cascade ? entity.parent : std::string();
    for (std::size_t i = 0; i < limits::max_chain && !above.empty(); ++i) {
      if (moving.contains(above)) {
        if (auto found = find_family(id); !found) return found;
        auto has = has_bucket(id);
        if (!has) return has.error();
        if (!*has) break;
        return base::error(
            ErrorCode::conflict, "entity ", base::quoted(id), " below ", base::quoted(above),
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

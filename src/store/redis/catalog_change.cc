#include "store/redis/catalog_change.h"

#include <unordered_map>

#include "base/text.h"
#include "store/audit.h"
#include "store/redis/codec.h"
#include "store/table/draft.h"

namespace weir::redis {

using base::error;

namespace {

constexpr int most_change_attempts = 100;
/// With more fields than this, everybody may as well forget everything.
constexpr std::size_t most_told = 64;
/// A bucket may be charged between the moment it was read and the moment it is told.
constexpr Time later = 5000;

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

Result<std::vector<store::Changed>> CatalogChange::run() {
  for (int i = 0; i < most_change_attempts; ++i) {
    bool overtaken = false;
    auto changed = attempt(overtaken);
    if (!overtaken) return changed;
  }
  return error(ErrorCode::contention, "others changed limits or entities too often meanwhile; try again");
}

Result<std::vector<store::Changed>> CatalogChange::attempt(bool& overtaken) {
  concern_ = {};
  tenant_ = {};
  looked_up_.clear();
  families_.clear();
  stamps_.clear();
  gone_.clear();
  now_ = site_.time.now();
  collect();
  if (auto read = read_counters(); !read) return read.error();
  if (auto read = read_levels(concern_.levels); !read) return read.error();
  if (auto read = read_levels_of_erased(); !read) return read.error();
  if (auto read = read_family_trees(); !read) return read.error();
  Workbench bench(now_, static_cast<std::uint64_t>(generation_) + 1, site_.entropy);
  if (auto read = read_buckets(bench); !read) return read.error();
  if (auto still = check_descendants(); !still) return still.error();

  table::TableCatalog::Past past;
  past.last_stamp = stamp_;
  past.audit_sequence = static_cast<std::uint64_t>(sequence_);
  past.audited_to = audited_to_;
  past.tenants[std::string(name_space_)] = tenant_;
  auto changed = bench.change(changes_, {std::move(past), [&](const table::Draft& draft, const auto& events) {
                                           return keep(draft, events, overtaken);
                                         }});
  if (!changed || overtaken) return changed;
  if (auto told = tell_buckets(bench.take_written()); !told) return told.error();
  return changed;
}

Result<void> CatalogChange::keep(const table::Draft& draft, const std::vector<store::AuditEvent>& events,
                                 bool& overtaken) {
  const Names& names = site_.names;
  Steps steps;
  steps.number_of(names.catalog(name_space_));
  Words message;
  std::size_t told = 0;
  message.name(name_space_).number(generation_ + 1);
  Words fields = message;
  const auto tell = [&](const std::string& field) {
    if (++told <= most_told) fields.text(field);
  };
  for (const auto& [key, record] : draft.limits()) {
    steps.set(key, encode(*record));
    steps.on("in", names.limits(name_space_), key);
    tell(key);
    const Level level = table::level_of(key);
    if (!level.entity().empty()) {
      Time& stamp = stamps_[level.entity()][level.resource()];
      stamp = std::max(stamp, record->current.stamp);
    }
  }
  for (const auto& [id, entity] : draft.entities()) {
    const auto old = tenant_.entities.find(id);
    const std::string before = old == tenant_.entities.end() ? std::string() : old->second.parent;
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
    tell("n " + id);
  }
  gone_ = draft.erased();
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
  steps.set("sequence", std::to_string(sequence_ + static_cast<std::int64_t>(events.size())));
  steps.set("audited", std::to_string(std::max(audited_to_, now_)));

  const std::string said = told <= most_told ? fields.str() : message.str();
  std::vector<std::string> words{std::to_string(generation_), names.channel(), said};
  words.insert(words.end(), steps.words.begin(), steps.words.end());
  auto reply = Asking(site_).run(Script::catalog(), steps.keys, words, true);
  if (!reply) return reply.error();
  overtaken = reply->get().integer() != 1;
  if (overtaken) return error(ErrorCode::contention, "the catalog changed meanwhile");
  // At once here, whenever the others are told.
  catalog_.on_message(said);
  return {};
}

Result<void> CatalogChange::tell_buckets(const std::vector<Written>& written) {
  const std::string now = std::to_string(site_.time.for_scripts());
  for (const std::string& entity : gone_) {
    const std::string& family = families_[entity];
    auto reply =
        Asking(site_).run(Script::touch(), {site_.names.index(name_space_, family, entity)},
                          {site_.names.buckets(name_space_, family, entity), "forget", now, "0"}, true);
    if (!reply) return reply.error();
  }
  for (const auto& [entity, stamps] : stamps_) {
    if (gone_.contains(entity)) continue;
    if (auto told = tell_buckets_of(entity, stamps, written); !told) return told;
  }
  return {};
}

/// What each bucket has to know: the stamp of its limits, and when it may vanish.
Result<void> CatalogChange::tell_buckets_of(const std::string& entity,
                                            const std::map<std::string, Time>& stamps,
                                            const std::vector<Written>& written) {
  std::map<std::string, std::pair<Time, Time>> of_resource;
  for (const auto& [resource, stamp] : stamps) {
    if (!resource.empty()) of_resource[resource].second = stamp;
  }
  for (const Written& one : written) {
    if (one.entity == entity)
      of_resource[one.resource].first = to_redis(base::saturating_add(one.expires_at, later));
  }
  const auto of_all = stamps.find("");
  const std::string& family = families_[entity];
  std::vector<std::string> words{site_.names.buckets(name_space_, family, entity), "touch",
                                 std::to_string(site_.time.for_scripts()),
                                 std::to_string(of_all == stamps.end() ? 0 : of_all->second)};
  for (const auto& [resource, told] : of_resource) {
    words.push_back(resource);
    words.push_back(std::to_string(told.first));
    words.push_back(std::to_string(told.second));
  }
  auto reply =
      Asking(site_).run(Script::touch(), {site_.names.index(name_space_, family, entity)}, words, true);
  if (!reply) return reply.error();
  return {};
}

}  // namespace weir::redis

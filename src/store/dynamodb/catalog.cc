#include "store/dynamodb/catalog.h"

#include <set>

#include "base/text.h"
#include "store/dynamodb/asking.h"
#include "store/dynamodb/catalog_change.h"
#include "store/table/draft.h"

namespace weir::dynamodb {

using base::error;
using base::quoted;
using limits::LimitsRecordRef;

namespace {

/// All the same: what a bucket was written under tells whether a resolution is old.
constexpr std::uint64_t generation = 1;

/// What a resolution needs to know of one entity, and its bucket, as they are read.
class Link {
 public:
  Link(Site& site, std::string_view name_space, std::string_view entity, std::string_view resource)
      : id_(bucket_id(name_space, entity, resource)),
        ticket_(site.memory.reading(id_)),
        meta_(meta_key(name_space, entity)),
        bucket_(bucket_key(name_space, entity, resource)) {
    for (std::size_t i = 0; i < levels_.size(); ++i)
      levels_[i] =
          level_key(name_space, table::level_of(table::level_key(static_cast<Source>(i), entity, resource)));
    seen_.image = conditional::Image::absent();
    seen_.seen_at = site.now();
  }

  void add_keys(std::set<Key>& keys) const {
    keys.insert({meta_, bucket_});
    keys.insert(levels_.begin(), levels_.end());
  }
  /// Takes an item, if it is one of its own.
  Result<void> take(const Key& key, const Item& item) {
    if (key == meta_) {
      moving_ = read_moving(item);
      if (!has_entity(item)) return {};
      auto entity = read_entity(item);
      if (!entity) return entity.error();
      if (!entity->cascade || entity->parent.empty()) return {};
      found_.parent = entity->parent;
      above_ = read_beyond(item);
      above_.insert(above_.begin(), entity->parent);
      return {};
    }
    if (key == bucket_) {
      auto read = read_bucket(item);
      if (!read) return read.error();
      seen_.image = conditional::Image::of(std::move(read->state));
      return {};
    }
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (key != levels_[i]) continue;
      auto record = read_limits(item);
      if (!record) return record.error();
      found_.levels[i] = LimitsRecordRef(record->get());
    }
    return {};
  }
  store::Found learn(Site& site) {
    site.memory.remember(id_, std::move(seen_));
    found_.generation = generation;
    return site.memory.learn(id_, std::move(found_), ticket_);
  }
  /// Who seems to be above it, the nearest first.
  const std::vector<std::string>& above() const { return above_; }
  /// Ends a change of its parent that was announced so long ago that whoever did is taken for dead: a change
  /// that is only slow finds its announcement gone, and starts over.
  std::optional<ItemWrite> end_of_moving(Time now) {
    const auto moving = std::exchange(moving_, {});
    if (!moving || now - moving->since < moving_for) return std::nullopt;
    return unannounced(meta_, *moving);
  }

 private:
  std::string id_;
  Memory::Ticket ticket_;
  Key meta_;
  Key bucket_;
  std::array<Key, 4> levels_;
  Remembered seen_;
  store::Found found_;
  std::vector<std::string> above_;
  std::optional<Moving> moving_;
};

/// Reads what a resolution needs in one request, and what those of its ancestors will need in a second one.
class Finding final : public aws::DynamoCall {
 public:
  Finding(Site& site, std::string_view name_space, std::string_view entity, std::string_view resource,
          store::Completion<store::Found> done)
      : site_(site), name_space_(name_space), resource_(resource), done_(done) {
    links_.emplace_back(site, name_space, entity, resource);
    repeatable = true;
  }
  void start() {
    std::set<Key> keys;
    for (const Link& link : links_) link.add_keys(keys);
    ask({keys.begin(), keys.end()});
  }

 private:
  void ask(const std::vector<Key>& keys) { submit(batch_get(site_.table, keys)); }
  void submit(Request wanted) {
    operation = std::move(wanted.operation);
    request = std::move(wanted.json);
    site_.send(*this);
  }
  void on_answer(const aws::DynamoAnswer& answer) override {
    if (std::exchange(ending_, false)) return read();
    for (const Item& item : answer.items) {
      const Key key = key_of(item);
      for (Link& link : links_) {
        const auto taken = link.take(key, item);
        if (taken) continue;
        // Of what was read ahead, nothing may be needed. Whoever does need it will find the same.
        if (found_) return finish_found();
        return finish(taken.error());
      }
    }
    if (!answer.unprocessed.empty()) {
      std::vector<Key> keys;
      for (const Item& key : answer.unprocessed) keys.push_back(key_of(key));
      return ask(keys);
    }
    read();
  }
  /// Everything that was asked for is there.
  void read() {
    for (Link& link : links_) {
      auto write = link.end_of_moving(site_.now());
      if (!write) continue;
      ending_ = true;
      return submit(single_write(site_.table, *write));
    }
    if (found_) {
      for (Link& link : links_) link.learn(site_);
      return finish_found();
    }
    const std::vector<std::string> above = links_.front().above();
    found_ = links_.front().learn(site_);
    links_.clear();
    add_ancestors(above);
    if (links_.empty()) return finish_found();
    start();
  }
  /// They are going to be asked for next, one by one, and are known by then. One that is not above it after
  /// all is read for nothing.
  void add_ancestors(const std::vector<std::string>& above) {
    if (!site_.memory.keeps_catalog()) return;
    for (const std::string& entity : above) {
      if (!site_.memory.found(bucket_id(name_space_, entity, resource_)))
        links_.emplace_back(site_, name_space_, entity, resource_);
    }
  }
  void on_error(const aws::DynamoFailure& failure) override {
    // Another process has ended the move already.
    if (std::exchange(ending_, false) && failure.kind == aws::DynamoFailure::Kind::condition) return read();
    aws::DynamoFailure only_read = failure;
    if (only_read.kind == aws::DynamoFailure::Kind::unknown)
      only_read.kind = aws::DynamoFailure::Kind::unavailable;
    finish(aws::error_of(only_read));
  }
  void finish_found() {
    found_->now = site_.now();
    finish(*std::move(found_));
  }
  void finish(Result<store::Found> result) {
    site_.counts.spend(Purpose::resolve, spent);
    const auto done = done_;
    delete this;
    done(std::move(result));
  }

  Site& site_;
  const std::string name_space_;
  const std::string resource_;
  std::vector<Link> links_;  ///< those that are being read
  bool ending_ = false;      ///< a change of a parent that takes too long
  std::optional<store::Found> found_;
  store::Completion<store::Found> done_;
};

}  // namespace

void DynamoCatalog::find(std::string_view name_space, std::string_view entity, std::string_view resource,
                         store::Completion<store::Found> done) {
  if (auto known = site_.memory.found(bucket_id(name_space, entity, resource))) {
    known->now = site_.now();
    return done(*std::move(known));
  }
  (new Finding(site_, name_space, entity, resource, done))->start();
}

void DynamoCatalog::change(const store::Changes& changes,
                           store::Completion<std::vector<store::Changed>> done) {
  if (auto may = Asking(site_).check_may_wait(); !may) return done(may.error());
  if (auto clock = site_.check_clock(); !clock) return done(clock.error());
  Result<std::vector<store::Changed>> changed = [&] {
    const std::scoped_lock lock(changing_);
    return CatalogChange(site_, changes, opening_.keep_audit_for()).run();
  }();
  done(std::move(changed));
}

void DynamoCatalog::limits(std::string_view name_space, const Level& level,
                           store::Completion<LimitsRecordRef> done) {
  auto found = limits_now(name_space, level);
  if (!found && found.error().code == ErrorCode::unavailable && level.kind() == Source::system) {
    // What to do while the store is away is said here, so the last word counts.
    const LimitsRecordRef last = site_.memory.last_system(name_space);
    if (last && !last->absent(site_.now())) return done(last);
  }
  done(std::move(found));
}

Result<LimitsRecordRef> DynamoCatalog::limits_now(std::string_view name_space, const Level& level) {
  const Key key = level_key(name_space, level);
  auto found = Asking(site_).get(std::span(&key, 1));
  if (!found) return found.error();
  LimitsRecordRef record;
  if (!found->empty()) {
    auto read = read_limits(found->begin()->second);
    if (!read) return read.error();
    record = LimitsRecordRef(read->get());
  }
  if (!record || record->absent(site_.now()))
    return error(ErrorCode::not_found, "no limits are set for ", table::described(level));
  return record;
}

void DynamoCatalog::list_limits(std::string_view name_space, const store::LimitsFilter& filter,
                                const store::Paging& paging,
                                store::Completion<store::Page<store::StoredLimitsItem>> done) {
  done(list_limits_now(name_space, filter, paging));
}

Result<store::Page<store::StoredLimitsItem>> DynamoCatalog::list_limits_now(std::string_view name_space,
                                                                            const store::LimitsFilter& filter,
                                                                            const store::Paging& paging) {
  const Time now = site_.now();
  store::Page<store::StoredLimitsItem> page;
  std::string last;
  std::optional<Error> failed;
  std::vector<std::string> keys;
  // Of some keys at a time the records are read.
  const auto take_keys = [&] {
    std::vector<Key> wanted;
    for (const std::string& key : keys) wanted.push_back(level_key(name_space, table::level_of(key)));
    auto found = Asking(site_).get(wanted);
    if (!found) return failed = found.error(), false;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto item = found->find(wanted[i]);
      if (item == found->end()) continue;
      auto record = read_limits(item->second);
      if (!record) return failed = record.error(), false;
      Level level = table::level_of(keys[i]);
      if ((*record)->absent(now) || (filter.owner && (*record)->owner != *filter.owner) ||
          (filter.level && level.kind() != *filter.level))
        continue;
      if (page.items.size() == paging.limit) return page.next = last, false;
      page.items.push_back({std::move(level), LimitsRecordRef(record->get())});
      last = keys[i];
    }
    keys.clear();
    return true;
  };
  QueryOf wanted{.pk = listed_limits_key(name_space, "").pk, .after = paging.cursor};
  auto listed = Asking(site_).for_each(wanted, [&](const Item& item) {
    keys.push_back(key_of(item).sk);
    return keys.size() < 100 || take_keys();
  });
  if (!listed) return listed.error();
  if (page.next.empty() && !failed) take_keys();
  if (failed) return *failed;
  return page;
}

void DynamoCatalog::entity(std::string_view name_space, std::string_view id, store::Completion<Entity> done) {
  const Key key = meta_key(name_space, id);
  auto found = Asking(site_).get(std::span(&key, 1));
  if (!found) return done(found.error());
  if (found->empty() || !has_entity(found->begin()->second))
    return done(error(ErrorCode::not_found, "entity ", quoted(id), " does not exist"));
  done(read_entity(found->begin()->second));
}

void DynamoCatalog::children(std::string_view name_space, std::string_view id, const store::Paging& paging,
                             store::Completion<store::Page<std::string>> done) {
  store::Page<std::string> page;
  QueryOf wanted{.pk = entity_pk(name_space, id), .begins_with = std::string(child_prefix)};
  if (!paging.cursor.empty()) wanted.after = base::join(child_prefix, paging.cursor);
  auto listed = Asking(site_).for_each(wanted, [&](const Item& item) {
    if (page.items.size() == paging.limit) return page.next = page.items.back(), false;
    page.items.push_back(key_of(item).sk.substr(child_prefix.size()));
    return true;
  });
  if (!listed) return done(listed.error());
  done(std::move(page));
}

void DynamoCatalog::entities(std::string_view name_space, const store::Paging& paging,
                             store::Completion<store::Page<Entity>> done) {
  done(entities_now(name_space, paging));
}

Result<store::Page<Entity>> DynamoCatalog::entities_now(std::string_view name_space,
                                                        const store::Paging& paging) {
  store::Page<Entity> page;
  std::vector<std::string> ids;
  QueryOf wanted{.pk = listed_entity_key(name_space, "").pk, .after = paging.cursor};
  auto listed = Asking(site_).for_each(wanted, [&](const Item& item) {
    if (ids.size() == paging.limit) return page.next = ids.back(), false;
    ids.push_back(key_of(item).sk);
    return true;
  });
  if (!listed) return listed.error();
  std::vector<Key> keys;
  for (const std::string& id : ids) keys.push_back(meta_key(name_space, id));
  auto found = Asking(site_).get(keys);
  if (!found) return found.error();
  for (const Key& key : keys) {
    const auto item = found->find(key);
    // Deleted since the page was read.
    if (item == found->end() || !has_entity(item->second)) continue;
    auto entity = read_entity(item->second);
    if (!entity) return entity.error();
    page.items.push_back(*std::move(entity));
  }
  return page;
}

void DynamoCatalog::audit(std::string_view name_space, std::string_view subject, const store::Paging& paging,
                          store::Completion<store::Page<store::AuditEvent>> done) {
  const Time oldest = site_.now() - opening_.keep_audit_for();
  store::Page<store::AuditEvent> page;
  const bool all = subject.empty();
  QueryOf wanted{.pk = all ? listed_audit_key(name_space, "").pk : audit_key(name_space, subject, "").pk,
                 .begins_with = all ? std::string() : std::string(audit_prefix),
                 .backward = true};
  if (!paging.cursor.empty()) wanted.after = all ? paging.cursor : base::join(audit_prefix, paging.cursor);
  std::optional<Error> failed;
  auto listed = Asking(site_).for_each(wanted, [&](const Item& item) {
    auto event = read_event(item);
    if (!event) return failed = event.error(), false;
    if (event->at <= oldest) return true;
    if (page.items.size() == paging.limit) return page.next = page.items.back().id, false;
    page.items.push_back(*std::move(event));
    return true;
  });
  if (!listed) return done(listed.error());
  if (failed) return done(*failed);
  done(std::move(page));
}

}  // namespace weir::dynamodb

#include "store/dynamodb/lookup.h"

#include <array>
#include <set>
#include <utility>

#include "store/dynamodb/catalog_change.h"

namespace weir::dynamodb {

using limits::LimitsRecordRef;

namespace {

/// Always the same: here the version of a bucket shows whether a resolution is out of date.
constexpr std::uint64_t generation = 1;

/// The input of a resolution for one entity, and its bucket, while they are read.
class Link {
 public:
  Link(Context& context, std::string_view name_space, std::string_view entity, std::string_view resource)
      : id_(bucket_id(name_space, entity, resource)),
        ticket_(context.memory.reading(id_)),
        name_space_(name_space),
        entity_(entity),
        resource_(resource),
        meta_(meta_key(name_space, entity)),
        bucket_(bucket_key(name_space, entity, resource)) {
    for (std::size_t i = 0; i < levels_.size(); ++i)
      levels_[i] = level_key(name_space,
                             table::level_of(table::level_key(limits::recorded_levels[i], entity, resource)));
    if (!ticket_.plan.empty()) plan_ = plan_key(name_space, ticket_.plan);
    seen_.image = conditional::Image::absent();
    seen_.seen_at = context.now();
  }

  void add_keys(std::set<Key>& keys) const {
    keys.insert({meta_, bucket_});
    keys.insert(levels_.begin(), levels_.end());
    if (!plan_.pk.empty()) keys.insert(plan_);
  }
  /// The entity has another plan than was asked for: this one has to be read, too.
  bool lacks_plan() {
    const Key wanted = found_.plan.empty() ? Key() : plan_key(name_space_, found_.plan);
    if (wanted == plan_) return false;
    plan_ = wanted;
    plan_record_ = {};
    return !plan_.pk.empty();
  }
  const Key& plan() const { return plan_; }
  /// Takes an item, if it belongs to this entity.
  Result<void> take(Context& context, const Key& key, const Item& item) {
    if (key == meta_) {
      moving_ = read_moving(item);
      if (!has_entity(item)) return {};
      auto entity = read_entity(item);
      if (!entity) return context.report(entity.error());
      found_.take(*entity);
      if (entity->parent.empty()) return {};
      above_ = read_beyond(item);
      above_.insert(above_.begin(), entity->parent);
      return {};
    }
    if (key == bucket_) {
      auto read = read_bucket(item);
      if (!read) return context.report(read.error());
      seen_.image = conditional::Image::of(std::move(read->state));
      return {};
    }
    if (key == plan_) plan_record_ = context.plan_in(item);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      if (key == levels_[i]) found_.levels.at(limits::recorded_levels[i]) = context.limits_in(item);
    }
    return {};
  }
  store::Found learn(Context& context) {
    context.memory.remember(id_, std::move(seen_));
    if (!found_.plan.empty() && !plan_record_)
      context.bad.report(table::missing_plan(name_space_, entity_, found_.plan));
    if (!found_.plan.empty()) found_.levels.set_plan(plan_record_.get(), resource_);
    found_.generation = generation;
    context.memory.learn(id_, found_, ticket_);
    return std::move(found_);
  }
  /// The probable ancestors of the entity, the nearest first.
  const std::vector<std::string>& above() const { return above_; }
  /// Ends a change of its parent that was announced so long ago that its process is presumed dead. A process
  /// that is only slow finds its announcement gone, and starts over.
  std::optional<ItemWrite> end_of_moving(Time now) {
    const auto moving = std::exchange(moving_, {});
    if (!moving || now - moving->since < moving_for) return std::nullopt;
    return unannounced(meta_, *moving);
  }

 private:
  std::string id_;
  Memory::Ticket ticket_;
  std::string name_space_;
  std::string entity_;
  std::string resource_;
  Key meta_;
  Key bucket_;
  std::array<Key, limits::recorded_levels.size()> levels_;
  Key plan_;  ///< empty: none is asked for
  limits::PlanRecordRef plan_record_;
  Remembered seen_;
  store::Found found_;
  std::vector<std::string> above_;
  std::optional<MoveAnnouncement> moving_;
};

/// Reads the input of a resolution in one request, and the input for its ancestors in a second one. A plan
/// that an entity was not known to have takes one more.
class Lookup final : public aws::DynamoCall {
 public:
  Lookup(Context& context, std::string_view name_space, std::string_view entity, std::string_view resource,
         store::Completion<store::Found> done)
      : context_(context), name_space_(name_space), resource_(resource), done_(done) {
    links_.emplace_back(context, name_space, entity, resource);
    repeatable = true;
  }
  void start() {
    std::set<Key> keys;
    for (const Link& link : links_) link.add_keys(keys);
    ask({keys.begin(), keys.end()});
  }

 private:
  void ask(const std::vector<Key>& keys) { submit(batch_get(context_.table, keys)); }
  void submit(Request wanted) {
    operation = std::move(wanted.operation);
    request = std::move(wanted.json);
    context_.send(*this);
  }
  void on_answer(const aws::DynamoAnswer& answer) override {
    if (std::exchange(ending_, false)) return read();
    for (const Item& item : answer.items) {
      const Key key = key_of(item);
      for (Link& link : links_) {
        const auto taken = link.take(context_, key, item);
        if (taken) continue;
        // Items that were read ahead may not be needed. A lookup that needs them will meet the same error.
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
  /// All requested items have been read.
  void read() {
    std::set<Key> plans;
    for (Link& link : links_) {
      if (link.lacks_plan()) plans.insert(link.plan());
    }
    if (!plans.empty()) return ask({plans.begin(), plans.end()});
    for (Link& link : links_) {
      auto write = link.end_of_moving(context_.now());
      if (!write) continue;
      ending_ = true;
      return submit(single_write(context_.table, *write));
    }
    if (found_) {
      for (Link& link : links_) link.learn(context_);
      return finish_found();
    }
    const std::vector<std::string> above = links_.front().above();
    found_ = links_.front().learn(context_);
    links_.clear();
    add_ancestors(above);
    if (links_.empty()) return finish_found();
    start();
  }
  /// Reads the ancestors ahead, since the walk up the chain looks them up next, one by one. A wrong guess
  /// costs a read.
  void add_ancestors(const std::vector<std::string>& above) {
    if (!context_.memory.keeps_catalog()) return;
    for (const std::string& entity : above) {
      if (!context_.memory.find(bucket_id(name_space_, entity, resource_)))
        links_.emplace_back(context_, name_space_, entity, resource_);
    }
  }
  void on_error(const aws::DynamoFailure& failure) override {
    // Another process has ended the move already.
    if (std::exchange(ending_, false) && failure.kind == aws::DynamoFailure::Kind::condition) return read();
    finish(error_of_read(failure));
  }
  void finish_found() {
    found_->now = context_.now();
    finish(*std::move(found_));
  }
  void finish(Result<store::Found> result) {
    context_.counts.spend(Purpose::resolve, spent);
    const auto done = done_;
    delete this;
    done(std::move(result));
  }

  Context& context_;
  const std::string name_space_;
  const std::string resource_;
  std::vector<Link> links_;  ///< entities that are being read
  bool ending_ = false;      ///< a request to end a stale change of a parent is under way
  std::optional<store::Found> found_;
  store::Completion<store::Found> done_;
};

}  // namespace

void look_up(Context& context, std::string_view name_space, std::string_view entity,
             std::string_view resource, store::Completion<store::Found> done) {
  (new Lookup(context, name_space, entity, resource, done))->start();
}

}  // namespace weir::dynamodb

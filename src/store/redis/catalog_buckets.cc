// How buckets learn that limits have changed. Many buckets are updated at once: with a wait for each one, a
// change of many limits would take as many round trips.
#include "base/text.h"
#include "decision/lease_change.h"
#include "decision/next_state.h"
#include "store/redis/bucket_write.h"
#include "store/redis/catalog_change.h"

namespace weir::redis {
namespace {

/// An attempt to write a bucket fails only if another operation has written it.
constexpr int most_put_attempts = 200;
/// Calls that are sent before their answers are awaited.
constexpr std::size_t most_at_once = 100;

/// The stamp that a bucket must have at least; 0: its limits have not changed.
Time stamp_of(const std::map<std::string, Time>& stamps, const std::string& resource) {
  const auto all = stamps.find("");
  const auto own = stamps.find(resource);
  return std::max(all == stamps.end() ? 0 : all->second, own == stamps.end() ? 0 : own->second);
}

}  // namespace

Result<void> CatalogChange::tell_buckets(const table::Draft& draft) {
  for (const std::string& entity : draft.erased()) {
    if (auto forgotten = forget_buckets(entity); !forgotten) return forgotten;
  }
  StampsOfEntities some;
  for (auto& [entity, stamps] : new_stamps(draft)) {
    some.emplace_back(entity, std::move(stamps));
    if (some.size() < most_at_once) continue;
    if (auto updated = tell_buckets(draft, some); !updated) return updated;
    some.clear();
  }
  return tell_buckets(draft, some);
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
  return base::error(ErrorCode::contention, "others changed the buckets of ", base::quoted(entity),
                     " too often meanwhile; try again");
}

/// Each bucket gets the stamp of its new limits, so that no process with older limits writes to it. Then each
/// adopts the new limits.
Result<void> CatalogChange::tell_buckets(const table::Draft& draft, const StampsOfEntities& some) {
  auto adoptions = touch_buckets(some);
  if (!adoptions) return adoptions.error();
  std::vector<BucketPut> puts;
  std::vector<Adoption*> put;
  for (Adoption& one : *adoptions) {
    auto write = adopting_write(draft, one);
    if (!write) continue;
    puts.push_back(
        {{name_space_, families_[one.entity], one.entity, one.resource}, *std::move(write), one.now});
    put.push_back(&one);
  }
  const auto written = put_buckets(context_, puts);
  if (!written) return written.error();
  for (std::size_t i = 0; i < put.size(); ++i) {
    if ((*written)[i]) continue;
    if (auto done = adopt(draft, std::move(*put[i])); !done) return done;
  }
  return {};
}

/// Gives the buckets of some entities their stamps, and returns those that may have to adopt limits.
Result<std::vector<CatalogChange::Adoption>> CatalogChange::touch_buckets(const StampsOfEntities& some) {
  std::vector<BlockingCalls::Arguments> calls;
  for (const auto& [entity, stamps] : some) {
    const std::string& family = families_[entity];
    BlockingCalls::Arguments& call = calls.emplace_back();
    call.keys = {context_.names.index(name_space_, family, entity)};
    call.words = {context_.names.buckets(name_space_, family, entity), std::to_string(stamp_of(stamps, "")),
                  std::to_string(context_.time.for_scripts())};
    for (const auto& [resource, stamp] : stamps) {
      if (!resource.empty()) call.words.insert(call.words.end(), {resource, std::to_string(stamp)});
    }
  }
  auto replies = BlockingCalls(context_).run_all(Script::touch(), calls, true);
  if (!replies) return replies.error();
  std::vector<Adoption> adoptions;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const auto& [entity, stamps] = some[i];
    const Reply list = (*replies)[i].get();
    auto at = list.children();
    at.next();
    const Time now = at.next().integer().value_or(0);
    while (!at.at_end()) {
      const std::string resource(at.next().text());
      auto read = read_bucket(at.next(), entity, resource);
      // Decisions on a damaged bucket fail. The limits can change.
      if (!read) context_.bad.report(read.error().message);
      const Time stamp = stamp_of(stamps, resource);
      if (read && stamp != 0) adoptions.push_back({entity, resource, *std::move(read), stamp, now});
    }
  }
  return adoptions;
}

/// The write by which a bucket adopts the limits that hold for it now; nothing: it need not be written.
std::optional<BucketWrite> CatalogChange::adopting_write(const table::Draft& draft, const Adoption& one) {
  const auto of_levels = resolve(draft, one.entity, one.resource, one.now);
  const auto& bucket = one.read.bucket;
  if (!of_levels->limits || !bucket || bucket->state.expires_at <= one.now) return std::nullopt;
  auto resolution = decision::resolve_as_stored(*of_levels, bucket->state, one.now);
  if (!resolution) resolution = limits::ResolutionRef(of_levels.get());
  decision::Chain chain;
  decision::Link& link = chain.add(one.entity, resolution.get());
  chain.claim(link, bucket->state, one.now);
  if (!decision::must_adopt(link) && bucket->stamp >= one.stamp) return std::nullopt;
  StoredBucket next = *bucket;
  if (decision::must_adopt(link)) next.state = decision::claimed_state(link, 0);
  next.stamp = std::max(next.stamp, one.stamp);
  return counted_write(one.read, std::move(next), one.now, bucket->segment.has_value());
}

Result<void> CatalogChange::adopt(const table::Draft& draft, Adoption one) {
  for (int attempts = 0; attempts < most_put_attempts; ++attempts) {
    const auto write = adopting_write(draft, one);
    if (!write) return {};
    const std::string& family = families_[one.entity];
    auto done = put_bucket(context_, {name_space_, family, one.entity, one.resource}, *write, one.now);
    if (!done) return done.error();
    if (*done) return {};
    auto loaded = load_buckets(context_, name_space_, family, one.entity, {one.resource});
    if (!loaded) return loaded.error();
    one.now = loaded->now;
    if (loaded->buckets.front().bad) return {};
    one.read = std::move(loaded->buckets.front());
  }
  return base::error(ErrorCode::contention, "others changed the buckets of ", base::quoted(one.entity),
                     " too often meanwhile; try again");
}

}  // namespace weir::redis

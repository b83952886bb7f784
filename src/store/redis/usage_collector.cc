#include "store/redis/usage_collector.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "store/redis/codec.h"
#include "store/redis/record.h"
#include "store/redis/start_up.h"
#include "store/redis/usage_codec.h"
#include "usage/rows.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr std::size_t collected_at_once = 256;
/// How often a process looks whether it is its turn.
constexpr std::chrono::minutes between_looks{10};
/// A little less than an hour, so that every hour has its collection.
constexpr const char* turn_stays = "3300000";

}  // namespace

void UsageCollector::start() {
  thread_ = std::thread([this] { run(); });
}

void UsageCollector::stop() {
  {
    const base::Guard guard(mutex_);
    stopping_ = true;
    stopped_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void UsageCollector::run() {
  auto next = std::chrono::steady_clock::now() + between_looks;
  for (;;) {
    {
      const base::Guard guard(mutex_);
      while (!stopping_ && std::chrono::steady_clock::now() < next) stopped_.wait_until(mutex_, next);
      if (stopping_) return;
    }
    next = std::chrono::steady_clock::now() + between_looks;
    // What fails is tried again with the next turn: there are 25 hours for it.
    const auto turn = is_our_turn();
    if (turn && *turn) (void)collect();
  }
}

Result<bool> UsageCollector::is_our_turn() {
  const std::string key = context_.names.collected();
  auto taken =
      BlockingCalls(context_).ask(key, resp::command({"SET", key, "1", "PX", turn_stays, "NX"}), true);
  if (!taken) return taken.error();
  return !taken->get().is_null();
}

Result<store::UsageCollected> UsageCollector::collect() {
  store::UsageCollected sum;
  if (context_.start_up != nullptr) {
    if (auto read = context_.start_up->read_usage_kept(); !read) return read.error();
  }
  const std::string key = context_.names.namespaces();
  auto names = BlockingCalls(context_).ask(key, resp::command({"SMEMBERS", key}));
  if (!names) return names.error();
  for (const std::string_view name : names->get().texts()) {
    if (auto done = collect_namespace(std::string(name), sum); !done) return done.error();
  }
  return sum;
}

Result<void> UsageCollector::collect_namespace(const std::string& name_space, store::UsageCollected& sum) {
  UsageIndex index(context_, name_space);
  const Names& names = context_.names;
  std::string after;
  for (bool last = false; !last;) {
    {
      const base::Guard guard(mutex_);
      if (stopping_) return {};
    }
    auto part = index.next(after, collected_at_once);
    if (!part) return part.error();
    last = part->last;
    const Time now = context_.time.now();
    const usage::Retention retention = usage::retention_at(now, context_.usage_kept());
    std::vector<BlockingCalls::Arguments> calls;
    std::vector<BucketName> buckets;
    for (const UsedBucket& bucket : part->buckets) {
      const BucketName& name =
          buckets.emplace_back(BucketName{name_space, bucket.family, bucket.entity, bucket.resource});
      auto members = members_of(context_, name);
      calls.push_back({{names.bucket(name_space, name.family, name.entity, name.resource),
                        names.usage(name_space, name.family, name.entity, name.resource)},
                       {std::to_string(day_number(retention.first_hour)),
                        std::to_string(day_number(retention.first_day)), members[0], members[1]}});
      if (!context_.cluster) calls.back().keys.push_back(names.used(name_space));
    }
    auto replies = BlockingCalls(context_).run_all(Script::collect(), calls, true);
    if (!replies) return replies.error();
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      if (auto taken = take(buckets[i], (*replies)[i], sum); !taken) return taken;
    }
  }
  return {};
}

Result<void> UsageCollector::take(const BucketName& name, const KeptReply& reply,
                                  store::UsageCollected& sum) {
  const Reply list = reply.get();
  auto at = list.children();
  const Reply record = at.next();
  const std::int64_t has = at.next().integer().value_or(0);
  const std::int64_t lost = at.next().integer().value_or(0);
  if (has < 0) context_.bad.report(unusable_usage(name.entity, name.resource));
  if (has == 0 && context_.cluster) return remove(name);
  if (lost > 0) {
    sum.lost += lost;
    lost_.fetch_add(lost, std::memory_order_relaxed);
    context_.bad.report(base::join("the usage of ", base::quoted(name.entity), " on ",
                                   base::quoted(name.resource), " lacks ", std::to_string(lost),
                                   " hours: its bucket was deleted or expired before they were collected"));
  }
  if (record.is_text()) {
    auto read = read_bucket(record.text(), name.entity, name.resource);
    if (!read) context_.bad.report(read.error().message);
    if (read) {
      if (auto handed = hand_over(name, *read, sum); !handed) return handed;
    }
  }
  while (!at.at_end()) {
    const auto day = base::parse_digits(at.next().text());
    const std::string hours(at.next().text());
    const std::string whole(at.next().text());
    if (!day) continue;
    if (auto folded = fold(name, *day, hours, whole); !folded) return folded;
  }
  return {};
}

Result<void> UsageCollector::hand_over(const BucketName& name, const ReadBucket& read,
                                       store::UsageCollected& sum) {
  const Time now = context_.time.now();
  if (!read.bucket || !read.bucket->segment || read.bucket->segment->hour + usage::hour > now) return {};
  const bool any = read.bucket->segment->events > 0;
  const StoredBucket& bucket = *read.bucket;
  // A bucket whose key only waits for its collection goes with it.
  const bool gone = bucket.state.expires_at <= now && encode(bucket, true).kept_until <= now;
  const BucketWrite write = gone ? deleting_write(read) : collecting_write(read);
  if (write.record == read.raw) return {};
  // If another operation has written the bucket meanwhile, it has closed the segment.
  auto put = put_bucket(context_, name, write, now);
  if (!put) return put.error();
  if (*put && any) ++sum.segments;
  return {};
}

Result<void> UsageCollector::fold(const BucketName& name, Time day, const std::string& hours,
                                  const std::string& whole) {
  auto parts = read_hours(day, hours);
  auto sum = whole.empty() ? std::optional(UsedWindow{.start = day * usage::day}) : read_day(day, whole);
  // The reader reports what is damaged.
  if (!parts || !sum) return {};
  for (const UsedWindow& part : *parts) {
    usage::add(sum->limits, part.limits);
    sum->events += part.events;
  }
  const std::string key = context_.names.usage(name.name_space, name.family, name.entity, name.resource);
  auto reply = BlockingCalls(context_).run(Script::fold(), {key},
                                           {std::to_string(day), hours, whole, encode_day(*sum)}, true);
  if (!reply) return reply.error();
  return {};
}

/// A bucket that begins to count first makes the key of its usage, then enters the index: so one that did
/// both since we looked is seen afterwards, and entered again.
Result<void> UsageCollector::remove(const BucketName& name) {
  const std::string used = context_.names.used(name.name_space);
  const auto members = members_of(context_, name);
  auto removed =
      BlockingCalls(context_).ask(used, resp::command({"ZREM", used, members[0], members[1]}), true);
  if (!removed) return removed.error();
  const std::string key = context_.names.usage(name.name_space, name.family, name.entity, name.resource);
  auto exists = BlockingCalls(context_).ask(key, resp::command({"EXISTS", key}));
  if (exists && exists->get().integer() == 0) return {};
  return index_usage(context_, name.name_space, members);
}

}  // namespace weir::redis

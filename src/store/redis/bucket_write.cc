#include "store/redis/bucket_write.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "store/redis/start_up.h"
#include "store/redis/usage_codec.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

constexpr const char* no_segment = "-";

void hand_over(BucketWrite& write, const usage::Segment& segment) {
  write.day = std::to_string(day_number(segment.hour));
  write.closed = encode_closed(segment);
}

void set_record(BucketWrite& write, Record record) {
  write.record = std::move(record.bytes);
  write.kept_until = record.kept_until;
}

}  // namespace

BucketWrite unchanged_write(const ReadBucket& before) { return {.before = before.raw}; }

BucketWrite counted_write(const ReadBucket& before, StoredBucket next, Time now, bool counts) {
  BucketWrite write{.before = before.raw};
  const StoredBucket* const old = before.bucket ? &*before.bucket : nullptr;
  const std::optional<usage::Segment> open = old != nullptr ? old->segment : std::nullopt;
  // Segments need no id: the script that closes one also replaces the record that it was in.
  usage::Step step = usage::count(open, old != nullptr ? &old->state : nullptr, next.state, now, counts, 0);
  if (step.closed) hand_over(write, *step.closed);
  const bool same = open && step.open && !step.closed && open->hour == step.open->hour;
  if (step.open && !same) write.open = std::to_string(step.open->hour / usage::hour);
  if (open && !step.open) write.open = no_segment;
  next.segment = std::move(step.open);
  set_record(write, encode(next));
  return write;
}

BucketWrite collecting_write(const ReadBucket& before) {
  BucketWrite write{.before = before.raw, .open = no_segment};
  StoredBucket next = *before.bucket;
  if (next.segment->events > 0) hand_over(write, *next.segment);
  // Its hour is over, so the next charge opens another one.
  next.segment = usage::Segment{.hour = next.segment->hour};
  set_record(write, encode(next, true));
  return write;
}

BucketWrite deleting_write(const ReadBucket& before) {
  BucketWrite write{.before = before.raw, .record = "-"};
  if (!before.bucket || !before.bucket->segment) return write;
  if (before.bucket->segment->events > 0) hand_over(write, *before.bucket->segment);
  write.open = no_segment;
  return write;
}

std::vector<std::string> usage_words(Context& context, std::string_view name_space, IndexedBy indexed) {
  const char* const by = indexed == IndexedBy::script   ? "here"
                         : indexed == IndexedBy::caller ? "done"
                                                        : "ask";
  // A day longer, so that the key never ends before the days in it.
  const Time keep = context.usage_kept().days + usage::day;
  return {by, std::to_string(keep), std::string(name_space)};
}

std::vector<std::string> words_of(Context& context, const BucketName& name, const BucketWrite& write,
                                  Time now) {
  const bool tests = context.time.for_tests();
  const Time moment = tests ? std::max<Time>(write.kept_until - now, 1) : write.kept_until;
  std::vector<std::string> words{write.before, write.record, std::to_string(moment),
                                 write.day,    write.closed, write.open};
  for (std::string& member : members_of(context, name)) words.push_back(std::move(member));
  return words;
}

std::vector<std::string> members_of(const Context& context, const BucketName& name) {
  // On a single server the family is the entity, and need not be said.
  const std::string family = context.cluster ? base::join(" ", name.family) : std::string();
  return {base::join("e ", name.entity, " ", name.resource, family),
          base::join("r ", name.resource, " ", name.entity, family)};
}

namespace {

BlockingCalls::Arguments put_call(Context& context, const BucketPut& put, IndexedBy indexed) {
  const Names& names = context.names;
  const BucketName& name = put.name;
  BlockingCalls::Arguments call;
  call.keys = {names.bucket(name.name_space, name.family, name.entity, name.resource),
               names.index(name.name_space, name.family, name.entity),
               names.fence(name.name_space, name.family),
               names.usage(name.name_space, name.family, name.entity, name.resource)};
  if (!context.cluster) {
    call.keys.push_back(names.used(name.name_space));
    call.keys.push_back(names.namespaces());
  }
  // A fence does not apply to an existing bucket.
  call.words = {
      "1", std::string(name.resource),    context.time.for_tests() ? "PEXPIRE" : "PEXPIREAT", "", "",
      "0", std::to_string(never_in_redis)};
  for (std::string& word : usage_words(context, name.name_space, indexed))
    call.words.push_back(std::move(word));
  for (std::string& word : words_of(context, name, put.write, put.now)) call.words.push_back(std::move(word));
  return call;
}

/// Whether the answer of put.lua says that the bucket was written.
bool was_written(Context& context, const BucketName& name, const Reply& reply) {
  const auto code = reply.integer();
  if (code == PutAnswer::written_without_usage)
    context.bad.report(unusable_usage(name.entity, name.resource));
  return code == PutAnswer::written || code == PutAnswer::written_without_usage;
}

}  // namespace

Result<bool> put_bucket(Context& context, const BucketName& name, const BucketWrite& write, Time now) {
  auto indexed = context.cluster ? IndexedBy::nobody : IndexedBy::script;
  for (;;) {
    const auto call = put_call(context, {name, write, now}, indexed);
    auto reply = BlockingCalls(context).run(Script::put(), call.keys, call.words, true);
    if (!reply) return reply.error();
    if (reply->get().integer() != PutAnswer::not_indexed || indexed == IndexedBy::caller)
      return was_written(context, name, reply->get());
    if (auto done = index_usage(context, name.name_space, members_of(context, name)); !done)
      return done.error();
    indexed = IndexedBy::caller;
  }
}

Result<std::vector<bool>> put_buckets(Context& context, const std::vector<BucketPut>& puts) {
  const auto indexed = context.cluster ? IndexedBy::nobody : IndexedBy::script;
  std::vector<BlockingCalls::Arguments> calls;
  calls.reserve(puts.size());
  for (const BucketPut& put : puts) calls.push_back(put_call(context, put, indexed));
  auto replies = BlockingCalls(context).run_all(Script::put(), calls, true);
  if (!replies) return replies.error();
  std::vector<bool> written;
  for (std::size_t i = 0; i < puts.size(); ++i)
    written.push_back(was_written(context, puts[i].name, (*replies)[i].get()));
  return written;
}

Result<void> index_usage(Context& context, std::string_view name_space,
                         const std::vector<std::string>& members) {
  const std::string all = context.names.namespaces();
  auto known = BlockingCalls(context).ask(all, resp::command({"SADD", all, name_space}), true);
  if (!known) return known.error();
  for (const std::string& member : members) {
    const std::string used = context.names.used(name_space);
    auto added = BlockingCalls(context).ask(used, resp::command({"ZADD", used, "0", member}), true);
    if (!added) return added.error();
  }
  return {};
}

std::string unusable_usage(std::string_view entity, std::string_view resource) {
  return base::join("the usage of ", base::quoted(entity), " on ", base::quoted(resource),
                    " cannot be written, since its key, or that of the index, has another type; delete it");
}

}  // namespace weir::redis

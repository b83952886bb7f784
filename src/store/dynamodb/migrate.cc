#include "store/dynamodb/migrate.h"

#include <poll.h>

#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"
#include "store/dynamodb/legacy.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::json_string;

/// Attempts to convert one bucket: each fails only if another operation has written the bucket.
constexpr int most_conversions = 50;

/// Legacy items of a page of the table, in the order of its keys within each partition.
Request scan(const std::string& table, const Key& after, unsigned page) {
  Expression expression;
  const std::string sort = expression.name("SK");
  const std::string tokens = expression.name("tokens_milli");
  const std::string map = expression.name("data");
  const std::string filter =
      join("begins_with(", sort, ",", expression.value(Value::of(bucket_prefix)), ") AND (attribute_exists(",
           tokens, ") OR attribute_exists(", map, ".", tokens, "))");
  std::string json =
      join("{\"TableName\":", json_string(table), ",\"FilterExpression\":", json_string(filter));
  expression.append_to(json);
  json += join(",\"Limit\":", std::to_string(page));
  if (!after.pk.empty()) {
    json += ",\"ExclusiveStartKey\":";
    wire::aws::append_json(json, after.item());
  }
  json += R"(,"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"})";
  return {"Scan", std::move(json)};
}

class Migration {
 public:
  Migration(aws::DynamoClient& client, const std::string& table, const Clock& clock, base::Entropy& entropy,
            const MigrationOptions& options)
      : context_{client, table, clock, entropy, {}, 0, 0, false, Memory(std::chrono::milliseconds(0)), {}},
        calls_(context_),
        options_(options) {}

  Result<MigrationReport> run() {
    if (auto begun = begin(); !begun) return begun.error();
    for (;;) {
      if (after_.pk.empty()) nothing_found_ = true;
      report_.counts.pages = 0;
      auto passed = pass();
      if (!passed) return passed.error();
      if (!*passed || options_.dry_run) return std::move(report_);
      // Only a full pass that finds nothing proves that nothing is left.
      if (!report_.problems.empty()) return std::move(report_);
      if (!nothing_found_) continue;
      if (auto ended = note(migration::done); !ended) return ended.error();
      return std::move(report_);
    }
  }

 private:
  Result<void> begin() {
    auto first = calls_.ask(first_keys(context_.table), true);
    if (!first.ok()) return aws::error_of(*first.failure);
    if (auto other = sharded_layout(context_.table, first.answer.items)) return *std::move(other);
    const Key key = version_key();
    auto found = calls_.get(std::span(&key, 1));
    if (!found) return found.error();
    const Item* const record = found->empty() ? nullptr : &found->begin()->second;
    report_.state = record == nullptr ? std::string(migration::pending)
                                      : std::string(wire::aws::text_of(*record, "migration"));
    if (options_.dry_run) return {};
    if (record == nullptr)
      return base::error(ErrorCode::unavailable, "the table has no version record; open the store first");
    after_ = {std::string(wire::aws::text_of(*record, "migration_pk")),
              std::string(wire::aws::text_of(*record, "migration_sk"))};
    report_.resumed = !after_.pk.empty();
    const Value* const nothing_found = wire::aws::find(*record, "migration_clean");
    nothing_found_ = nothing_found != nullptr && nothing_found->flag;
    return note(migration::running);
  }

  /// Stores the progress.
  Result<void> note(std::string_view state) {
    ItemWrite write{.kind = ItemWrite::Kind::update, .key = version_key()};
    write.expression.condition(join("attribute_exists(", write.expression.name("lease_key"), ")"));
    write.expression.set("migration", Value::of(state));
    if (after_.pk.empty()) {
      write.expression.remove("migration_pk");
      write.expression.remove("migration_sk");
      write.expression.remove("migration_clean");
    } else {
      write.expression.set("migration_clean", Value::of_flag(nothing_found_));
      write.expression.set("migration_pk", Value::of(after_.pk));
      write.expression.set("migration_sk", Value::of(after_.sk));
    }
    const auto asked = calls_.ask(single_write(context_.table, write), true);
    if (!asked.ok()) return aws::error_of(*asked.failure);
    report_.state = state;
    return {};
  }

  /// One pass from the present position to the end of the table. False: it was stopped.
  Result<bool> pass() {
    Key after = after_;
    do {
      auto asked = calls_.ask(scan(context_.table, after, options_.page), true);
      if (!asked.ok()) return aws::error_of(*asked.failure);
      const std::uint64_t buckets = report_.counts.buckets;
      if (auto taken = take(asked.answer.items, after); !taken) return taken.error();
      after = asked.answer.last_key.empty() ? Key() : key_of(asked.answer.last_key);
      ++report_.counts.pages;
      if (!options_.dry_run) {
        after_ = after;
        if (auto noted = note(migration::running); !noted) return noted.error();
      }
      if (options_.progress) options_.progress(report_.counts);
      pause(1 + report_.counts.buckets - buckets);
      if (!after.pk.empty() && options_.stop && options_.stop()) return false;
    } while (!after.pk.empty());
    return true;
  }

  /// Converts the buckets of a page. A bucket that began on the previous page was converted there as a whole.
  Result<void> take(const std::vector<Item>& items, const Key& before) {
    const auto last = legacy_name(before);
    std::optional<LegacyName> current;
    for (const Item& item : items) {
      auto name = legacy_name(key_of(item));
      if (!name) continue;
      ++report_.counts.found;
      nothing_found_ = false;
      if (options_.dry_run) {
        if (auto read = read_legacy(item); !read) report_.problems.push_back(read.error().message);
      }
      const bool same = current && name->same_bucket(*current);
      // In a dry run the bucket's other items still exist, but the bucket was counted.
      const bool counted = options_.dry_run && last && name->same_bucket(*last);
      current = std::move(name);
      if (same || counted) continue;
      if (options_.dry_run) {
        ++report_.counts.buckets;
      } else if (auto converted = convert(*current); !converted) {
        return converted.error();
      }
    }
    return {};
  }

  Result<std::vector<LegacyLimit>> read(const LegacyName& name) {
    std::vector<LegacyLimit> limits;
    std::optional<Error> failed;
    auto listed = calls_.for_each(
        {.pk = entity_pk(name.name_space, name.entity), .begins_with = legacy_prefix(name.resource)},
        [&](const Item& item) {
          auto limit = read_legacy(item);
          if (!limit) return failed = limit.error(), false;
          limits.push_back(*std::move(limit));
          return true;
        });
    if (!listed) return listed.error();
    if (!failed) return limits;
    report_.problems.push_back(failed->message);
    return std::vector<LegacyLimit>();
  }

  Result<void> convert(const LegacyName& name) {
    const BucketName bucket{name.name_space, name.entity, name.resource};
    const Key key = bucket.key();
    for (int i = 0; i < most_conversions; ++i) {
      auto limits = read(name);
      if (!limits) return limits.error();
      auto there = calls_.get(std::span(&key, 1));
      if (!there) return there.error();
      const Time now = context_.now();
      if (auto erased = erase_expired(*limits, now); !erased) return erased.error();
      if (limits->empty()) return {};
      std::optional<conditional::Record> state;
      if (!there->empty()) {
        auto composite = read_bucket(there->begin()->second);
        if (!composite) return report_.problems.push_back(composite.error().message), Result<void>();
        if (composite->state.expires_at > now) state = std::move(composite->state);
      }
      const std::vector<ItemWrite> writes =
          state ? absorption(bucket, *limits, *state, context_.settings, now)
                : conversion(bucket, *limits, merged(*limits, (context_.entropy.next() >> 11U) | 1U), now);
      const std::string token = join(std::to_string(context_.entropy.next() >> 1U), "-m");
      const auto asked = calls_.ask(transaction(context_.table, writes, token), true);
      using Kind = aws::DynamoFailure::Kind;
      if (asked.ok()) {
        ++report_.counts.buckets;
        report_.counts.absorbed += state ? 1U : 0U;
        return {};
      }
      if (asked.failure->kind != Kind::condition && asked.failure->kind != Kind::conflict)
        return aws::error_of(*asked.failure);
    }
    return base::error(ErrorCode::contention, "the bucket of ", base::quoted(name.entity), " on ",
                       base::quoted(name.resource),
                       " is written too often to convert it; run this again later");
  }

  /// Deletes expired items, whose balances do not matter.
  Result<void> erase_expired(std::vector<LegacyLimit>& limits, Time now) {
    for (const LegacyLimit& limit : limits) {
      if (limit.expires_at > now) continue;
      ItemWrite write = erase(limit.key);
      const std::string ttl = write.expression.name("ttl");
      write.expression.condition(join(ttl, "<=", write.expression.value(now / 1000)));
      const auto asked = calls_.ask(single_write(context_.table, write), true);
      if (asked.ok()) ++report_.counts.expired;
      if (!asked.ok() && asked.failure->kind != aws::DynamoFailure::Kind::condition)
        return aws::error_of(*asked.failure);
    }
    std::erase_if(limits, [&](const LegacyLimit& limit) { return limit.expires_at <= now; });
    return {};
  }

  void pause(std::uint64_t steps) const {
    if (options_.most_per_second == 0) return;
    const auto length = std::chrono::milliseconds(steps * 1000 / options_.most_per_second);
    if (options_.pause) return options_.pause(length);
    ::poll(nullptr, 0, static_cast<int>(length.count()));
  }

  Context context_;
  BlockingCalls calls_;
  const MigrationOptions& options_;
  MigrationReport report_;
  Key after_;                   ///< where to resume; empty: at the start
  bool nothing_found_ = false;  ///< since the start of this pass, which may span several runs
};

}  // namespace

Result<MigrationReport> migrate(aws::DynamoClient& client, const std::string& table, const Clock& clock,
                                base::Entropy& entropy, const MigrationOptions& options) {
  return Migration(client, table, clock, entropy, options).run();
}

}  // namespace weir::dynamodb

#include "store/dynamodb/stream_records.h"

#include <algorithm>
#include <charconv>

#include "limits/names.h"
#include "store/dynamodb/items.h"
#include "store/dynamodb/usage_items.h"

namespace weir::dynamodb {
namespace {

using wire::aws::find;
using wire::aws::integer_of;
using wire::aws::text_of;
using wire::json::Reader;

/// The parts of a record, images as they are written.
struct Parts {
  std::string_view keys;
  std::string_view old;
  std::string_view next;
  std::string sequence;
  Time created = 0;
};

/// Seconds, maybe with a fraction or an exponent, as milliseconds.
Time milliseconds_in(std::string_view number) {
  double seconds = 0;
  std::from_chars(number.data(), number.data() + number.size(), seconds);
  return seconds > 0 && seconds < 1e11 ? static_cast<Time>(seconds * 1000) : 0;
}

bool read_parts(Reader& reader, Parts& parts) {
  std::string member;
  for (reader.object(); reader.member(member);) {
    std::string_view number;
    const bool read = member == "Keys"             ? reader.raw(parts.keys)
                      : member == "NewImage"       ? reader.raw(parts.next)
                      : member == "OldImage"       ? reader.raw(parts.old)
                      : member == "SequenceNumber" ? reader.string(parts.sequence)
                      : member == "ApproximateCreationDateTime" && reader.peek() == Reader::Kind::number
                          ? reader.number(number)
                          : reader.skip();
    if (!read) return false;
    if (!number.empty()) parts.created = milliseconds_in(number);
  }
  return !reader.failed();
}

std::optional<Item> item_in(std::string_view json) {
  Reader reader(json);
  Item item;
  if (!wire::aws::read(reader, item) || !reader.end()) return std::nullopt;
  return item;
}

/// The bucket that a key names; nothing if it is another item.
std::optional<usage::BucketId> bucket_of(const Key& key) {
  if (!is_bucket(key)) return std::nullopt;
  auto owner = entity_of(key.pk);
  if (!owner) return std::nullopt;
  usage::BucketId id{std::move(owner->name_space), std::move(owner->entity),
                     key.sk.substr(bucket_prefix.size())};
  if (!limits::check_namespace(id.name_space) || !limits::check_entity(id.entity) ||
      !limits::check_resource(id.resource))
    return std::nullopt;
  return id;
}

/// The name in "b_{name}_tc"; empty where it is another attribute.
std::string_view counted_limit(std::string_view attribute) {
  if (!attribute.starts_with("b_") || !attribute.ends_with("_tc") || attribute.size() < 6) return {};
  return attribute.substr(2, attribute.size() - 5);
}

std::optional<usage::Counters> counters_in(const Item& item, const usage::BucketId& bucket) {
  if (text_of(item, "entity_id") != bucket.entity) return std::nullopt;
  if (integer_of(item, "fv").value_or(1) > item_format) return std::nullopt;
  usage::Counters counters;
  if (const Value* const generation = find(item, "gen")) {
    const auto number = generation->natural();
    if (!number) return std::nullopt;
    counters.generation = *number;
  }
  counters.counts = find(item, no_usage_mark) == nullptr;
  for (const Attribute& attribute : item) {
    const std::string_view limit = counted_limit(attribute.name);
    if (limit.empty()) continue;
    const auto amount = attribute.value.integer();
    if (!amount || !bucket::is_stored_balance(*amount) || !limits::check_limit_name(limit))
      return std::nullopt;
    counters.amounts.push_back({std::string(limit), *amount});
  }
  if (counters.amounts.size() > bucket::max_limits_kept) return std::nullopt;
  std::sort(counters.amounts.begin(), counters.amounts.end(),
            [](const usage::Used& a, const usage::Used& b) { return a.limit < b.limit; });
  return counters;
}

/// Fills in the images. False: they cannot be used.
bool read_images(const Parts& parts, usage::BucketRecord& record) {
  std::optional<std::int64_t> migrated_before;
  if (!parts.old.empty()) {
    const auto item = item_in(parts.old);
    if (!item) return false;
    record.old = counters_in(*item, record.bucket);
    if (!record.old) return false;
    migrated_before = integer_of(*item, migration_mark);
  }
  if (parts.next.empty()) return record.old.has_value();
  const auto item = item_in(parts.next);
  if (!item) return false;
  record.next = counters_in(*item, record.bucket);
  const auto at = integer_of(*item, "at");
  if (!record.next || !at || *at < 0 || *at > last_window) return false;
  record.at = *at;
  const auto migrated = integer_of(*item, migration_mark);
  record.migrates = migrated && migrated != migrated_before;
  return true;
}

bool is_sequence(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool read_record(Reader& reader, std::string_view label, StreamRecord& record) {
  Parts parts;
  std::string member;
  for (reader.object(); reader.member(member);) {
    if (!(member == "dynamodb" ? read_parts(reader, parts) : reader.skip())) return false;
  }
  if (reader.failed() || !is_sequence(parts.sequence)) return false;
  record.sequence = parts.sequence;
  record.created = parts.created;
  const auto keys = item_in(parts.keys);
  const auto bucket = keys ? bucket_of(key_of(*keys)) : std::nullopt;
  if (!bucket) return true;
  usage::BucketRecord& of_bucket = record.bucket.emplace();
  of_bucket.bucket = *bucket;
  of_bucket.sequence = parts.sequence;
  of_bucket.position = usage::stream_position(label, parts.sequence);
  of_bucket.created = parts.created;
  record.malformed = !read_images(parts, of_bucket);
  if (record.malformed) record.bucket.reset();
  return true;
}

bool read_records(std::string_view body, std::string_view label, usage::ShardRead& read) {
  Reader reader(body);
  std::string member;
  for (reader.object(); reader.member(member);) {
    if (member == "NextShardIterator" && reader.peek() == Reader::Kind::string) {
      reader.string(read.iterator);
    } else if (member == "Records") {
      for (reader.array(); reader.element();) {
        StreamRecord record;
        if (!read_record(reader, label, record)) return false;
        read.empty = false;
        read.last_sequence = record.sequence;
        read.newest = record.created;
        read.malformed += record.malformed ? 1U : 0U;
        if (record.bucket) read.records.push_back(*std::move(record.bucket));
      }
    } else {
      reader.skip();
    }
  }
  return reader.end();
}

std::string_view label_of(std::string_view stream_arn) {
  const std::size_t at = stream_arn.rfind("/stream/");
  return at == std::string_view::npos ? stream_arn : stream_arn.substr(at + 8);
}

}  // namespace weir::dynamodb

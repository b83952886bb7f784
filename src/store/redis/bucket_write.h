// What put.lua writes for one bucket: its record, and the usage that it hands over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/context.h"
#include "store/redis/record.h"

namespace weir::redis {

/// A bucket by its names.
struct BucketName {
  std::string_view name_space;
  std::string_view family;
  std::string_view entity;
  std::string_view resource;
};

/// The words of put.lua for a bucket.
struct BucketWrite {
  std::string before;
  std::string record;  ///< empty: unchanged
  Time kept_until = 0;
  std::string day;     ///< of the closed segment; empty: there is none
  std::string closed;  ///< its text
  std::string open;    ///< the hour of the open segment; "-": there is none; empty: as before
};

/// Nothing changes.
BucketWrite unchanged_write(const ReadBucket& before);
/// Writes `next`, and counts what changes at this moment. `counts`: whether usage is on.
BucketWrite counted_write(const ReadBucket& before, StoredBucket next, Time now, bool counts);
/// Hands over the open segment, which is in an hour that is over. The bucket stays.
BucketWrite collecting_write(const ReadBucket& before);
/// The same, and deletes the bucket.
BucketWrite deleting_write(const ReadBucket& before);

/// The answers of put.lua.
struct PutAnswer {
  enum : std::uint8_t { changed, written, chain_changed, written_without_usage, not_indexed };
};
/// How a bucket that begins to count gets into the index of usage.
enum class IndexedBy : std::uint8_t { script, caller, nobody };

/// The arguments of put.lua behind those of the marker and the generation.
std::vector<std::string> usage_words(Context& context, std::string_view name_space, IndexedBy indexed);
/// The words of a bucket.
std::vector<std::string> words_of(Context& context, const BucketName& name, const BucketWrite& write,
                                  Time now);
/// The members of a bucket in the index of usage: by entity, and by resource.
std::vector<std::string> members_of(const Context& context, const BucketName& name);

/// Writes one bucket by itself, and blocks. False: something has changed.
Result<bool> put_bucket(Context& context, const BucketName& name, const BucketWrite& write, Time now);
/// A write of put_bucket().
struct BucketPut {
  BucketName name;
  BucketWrite write;
  Time now;
};
/// Writes many buckets at once, each by itself, and blocks. False: this one was not written; put_bucket() may
/// write it.
Result<std::vector<bool>> put_buckets(Context& context, const std::vector<BucketPut>& puts);
/// Enters buckets in the index of usage. Blocks.
Result<void> index_usage(Context& context, std::string_view name_space,
                         const std::vector<std::string>& members);
/// The sentence for a usage key of another type.
std::string unusable_usage(std::string_view entity, std::string_view resource);

}  // namespace weir::redis

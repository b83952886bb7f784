// The index of usage: which buckets have usage, by entity and by resource. A sorted set for each namespace,
// with two members for each bucket:
//
//   e ENTITY RESOURCE FAMILY?    r RESOURCE ENTITY FAMILY?
//
// On a single server there is no family. The key of a bucket's usage exists only for buckets in the index.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/context.h"

namespace weir::redis {

/// A bucket that has usage.
struct UsedBucket {
  std::string entity;
  std::string resource;
  std::string family;
};

/// The range of members of an entity or a resource, or of one bucket. Blocks.
class UsageIndex {
 public:
  UsageIndex(Context& context, std::string_view name_space) : context_(context), name_space_(name_space) {}

  /// All buckets of an entity, by resource. An empty resource: every one.
  Result<std::vector<UsedBucket>> of_entity(std::string_view entity, std::string_view resource);
  /// Some buckets, and whether these were the last ones.
  struct Part {
    std::vector<UsedBucket> buckets;
    bool last = false;
  };
  /// Buckets of a resource by entity, after one entity; an empty one: from the first. At most about `most`,
  /// but always all of an entity. Sets `after` to the last entity.
  Result<Part> of_resource(std::string_view resource, std::string& after, std::size_t most);
  /// How many buckets a resource has, in all families.
  Result<std::size_t> count(std::string_view resource);
  /// All buckets, by entity, after a member; at most `most`. Sets `after` to the last member.
  Result<Part> next(std::string& after, std::size_t most);

 private:
  Result<std::vector<std::string>> range(const std::string& from, const std::string& to, std::size_t most);
  std::vector<UsedBucket> read(const std::vector<std::string>& members);

  Context& context_;
  const std::string_view name_space_;
};

/// Nothing: it is not one that weir writes.
std::optional<UsedBucket> read_member(std::string_view member);

}  // namespace weir::redis

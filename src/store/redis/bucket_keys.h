// The names in the keys of buckets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "limits/names.h"
#include "store/redis/key_scan.h"
#include "store/redis/names.h"

namespace weir::redis {

/// Reads the names in keys of buckets of one namespace.
class BucketKeys {
 public:
  BucketKeys(const Names& names, std::string_view name_space)
      : begin_(base::join(names.prefix, ":", name_space, ":{")) {}

  std::string pattern(std::string_view resource) const {
    return base::join(literal(begin_), "*}:b:*", resource.empty() ? "" : ":", literal(resource));
  }
  struct Name {
    std::string entity;
    std::string_view resource;
    std::string_view family;
  };
  /// Nothing: it is not the key of a bucket.
  std::optional<Name> read(std::string_view key) const {
    constexpr std::string_view mark = "}:b:";
    if (!key.starts_with(begin_)) return std::nullopt;
    key.remove_prefix(begin_.size());
    const std::size_t family = key.find(mark);
    const std::size_t colon = family == std::string_view::npos ? family : key.find(':', family + mark.size());
    if (colon == std::string_view::npos) return std::nullopt;
    Name name{.entity = {}, .resource = key.substr(colon + 1), .family = key.substr(0, family)};
    std::string_view entity = key.substr(family + mark.size(), colon - family - mark.size());
    for (std::size_t at; (at = entity.find("%3A")) != std::string_view::npos;) {
      name.entity.append(entity.substr(0, at)).append(1, ':');
      entity.remove_prefix(at + 3);
    }
    name.entity += entity;
    if (!limits::check_entity(name.entity) || !limits::check_resource(name.resource)) return std::nullopt;
    return name;
  }

 private:
  const std::string begin_;
};

}  // namespace weir::redis

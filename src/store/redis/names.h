// The names of the keys in Redis.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "decision/marker.h"

namespace weir::redis {

/// Keys of one namespace's catalog share a slot, and so do the buckets and leases of one family.
struct Names {
  std::string prefix = "weir";

  /// The prefix of the keys of an entity's buckets; the resource follows. A colon in the entity is written as
  /// %3A, so that it differs from the one before the resource.
  std::string buckets(std::string_view name_space, std::string_view family, std::string_view entity) const {
    return bucket(name_space, family, entity, {});
  }
  std::string bucket(std::string_view name_space, std::string_view family, std::string_view entity,
                     std::string_view resource) const {
    std::string key = of_entity(name_space, family, "}:b:", entity, resource.size() + 1);
    key.append(1, ':').append(resource);
    return key;
  }
  /// The resources that an entity has buckets on, a sorted set.
  std::string index(std::string_view name_space, std::string_view family, std::string_view entity) const {
    return of_entity(name_space, family, "}:i:", entity);
  }
  /// The usage of a bucket, a hash.
  std::string usage(std::string_view name_space, std::string_view family, std::string_view entity,
                    std::string_view resource) const {
    std::string key = of_entity(name_space, family, "}:u:", entity, resource.size() + 1);
    key.append(1, ':').append(resource);
    return key;
  }
  std::string lease(std::string_view name_space, std::string_view family, const decision::Nonce& nonce) const;
  /// The fence: keeps processes that know an older chain from creating buckets in a family that the chain has
  /// left.
  std::string fence(std::string_view name_space, std::string_view family) const {
    return base::join(prefix, ":", name_space, ":{", family, "}:f");
  }

  std::string catalog(std::string_view name_space) const { return of(name_space, "catalog"); }
  std::string limits(std::string_view name_space) const { return of(name_space, "limits"); }
  std::string entities(std::string_view name_space) const { return of(name_space, "entities"); }
  std::string children(std::string_view name_space, std::string_view parent) const {
    return base::join(of(name_space, "children:"), parent);
  }
  std::string plans(std::string_view name_space) const { return of(name_space, "plans"); }
  std::string members(std::string_view name_space, std::string_view plan) const {
    return base::join(of(name_space, "members:"), plan);
  }
  std::string audit(std::string_view name_space) const { return of(name_space, "audit"); }
  std::string audit_of(std::string_view name_space, std::string_view subject) const {
    return base::join(of(name_space, "audit:"), subject);
  }
  /// The buckets that have usage, a sorted set.
  std::string used(std::string_view name_space) const { return of(name_space, "used"); }
  std::string store() const { return prefix + ":store"; }
  /// The namespaces that have usage, a set.
  std::string namespaces() const { return prefix + ":namespaces"; }
  /// Exists while the usage of the last hour has been collected.
  std::string collected() const { return prefix + ":collected"; }
  std::string channel() const { return prefix + ":changes"; }

 private:
  std::string of_entity(std::string_view name_space, std::string_view family, std::string_view kind,
                        std::string_view entity, std::size_t behind = 0) const {
    std::string key;
    key.reserve(prefix.size() + name_space.size() + family.size() + kind.size() + entity.size() + behind + 3);
    key.append(prefix).append(1, ':').append(name_space).append(":{").append(family).append(kind);
    for (std::size_t colon; (colon = entity.find(':')) != std::string_view::npos;) {
      key.append(entity.substr(0, colon)).append("%3A");
      entity.remove_prefix(colon + 1);
    }
    key.append(entity);
    return key;
  }
  std::string of(std::string_view name_space, std::string_view what) const {
    return base::join(prefix, ":{", name_space, "}:", what);
  }
};

}  // namespace weir::redis

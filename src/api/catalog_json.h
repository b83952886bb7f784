// Limits, entities, buckets and the audit as the JSON of the HTTP API, which the command line prints too.
// Pure functions.
#pragma once

#include <span>
#include <string>

#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/entity.h"

namespace weir::api {

/// `{"rpm":{...long form}}`.
std::string to_json(std::span<const NamedLimit> limits);
/// The answer to a get or set of one level: limits, owner, and the other settings.
std::string to_json(const StoredLimits& stored);
/// The same in a listing, with the level.
std::string item_json(const StoredLimits& stored);
std::string to_json(const EffectiveLimits& effective);

std::string to_json(const Entity& entity);
/// `{"entity":"key-9","rules":[{"access":"blocked","reason":"abuse","since_ms":N}]}`: the rules of one kind.
std::string access_json(const Entity& entity, Access access);
std::string to_json(const LimitsPlan& plan);

/// The event. `before` and `after` are JSON already; null where empty.
std::string to_json(const AuditEvent& event);
/// `{"name":"staging"}`, with `"purged_at_ms"` and `"kept_until_ms"` if it was purged, and `"erased":true` if
/// everything in it was deleted.
std::string to_json(const Namespace& name_space);

/// The bucket as it is stored, and the balance of each limit at `now` under the parameters that it was
/// written with.
std::string to_json(const Bucket& bucket, Time now);

}  // namespace weir::api

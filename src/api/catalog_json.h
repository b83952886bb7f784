// Limits, entities, buckets and the audit as the JSON of the HTTP API, which the command line prints too.
// Pure.
#pragma once

#include <span>
#include <string>

#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/entity.h"

namespace weir::api {

/// `{"rpm":{...long form}}`.
std::string to_json(std::span<const NamedLimit> limits);
/// The answer to a get or set of one level: limits, owner, and what else is set.
std::string to_json(const StoredLimits& stored);
/// The same in a listing, where it also says which level it is.
std::string item_json(const StoredLimits& stored);
std::string to_json(const EffectiveLimits& effective);

std::string to_json(const Entity& entity);

/// The event. What was before and after is JSON already; null where there was nothing.
std::string to_json(const AuditEvent& event);

/// The bucket as it is stored, and what each limit holds at `now` under the parameters that it was written
/// with.
std::string to_json(const Bucket& bucket, Time now);

}  // namespace weir::api

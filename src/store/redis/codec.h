// Converts between our types and the texts in Redis, which are words (words.h). Markers are in
// marker_codec.cc, the rest in codec.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/marker.h"
#include "limits/record.h"
#include "store/catalog.h"
#include "store/redis/words.h"

namespace weir::redis {

/// Six words for each limit: name, capacity, burst, refill amount, refill period, rate amount, rate period.
std::string encode(const limits::LimitSet& set);
std::optional<limits::LimitSetRef> decode_set(std::string_view text);
void append(Words& words, std::string_view name, const limits::Parameters& limit);
/// Fails the reader where the numbers are out of range.
limits::NamedParameters read_parameters(WordReader& reader);

std::string encode(const limits::LimitsRecord& record);
/// Null if it cannot be used.
limits::LimitsRecordRef decode_limits(std::string_view text);
/// A record in place of one that cannot be used: what can be read of its stamp and owner, and no limits.
limits::LimitsRecordRef bad_limits(std::string_view text, std::string sentence);

/// `1 FROM_FILE n (RESOURCE RECORD)*n`, where the resource of the set for all is `_default_`, and a record is
/// as a level has it.
std::string encode(const limits::PlanRecord& plan);
/// Null if it cannot be used.
limits::PlanRecordRef decode_plan(std::string_view text);

/// With a plan, or without one after it had one, the text begins with 3 and ends with the plan and its stamp.
/// With access rules it begins with 5, and they follow.
std::string encode(const Entity& entity);
std::optional<Entity> decode_entity(std::string_view id, std::string_view text);

/// Begins with the id, so that events sort by it.
std::string encode(const store::AuditEvent& event);
std::optional<store::AuditEvent> decode_event(std::string_view text);

/// `2 ENDING DEADLINE k GENERATION*k ENTITY*k n (LIMIT AMOUNT BUCKETS)*n m KEY*m`. Format 1 has neither
/// generations nor entities; its readers still find the deadline in the third word.
std::string encode(const decision::Marker& marker);
/// The part after the generations, for acquire.lua, which adds the rest.
std::string encode_behind_generations(const decision::LeaseRecord& record,
                                      const std::vector<std::string_view>& entities);
/// Reads either format; a marker of format 1 has no buckets.
std::optional<decision::Marker> decode_marker(std::string_view text);

}  // namespace weir::redis

// Between our types and the texts in Redis: words with a space between them. A text that may hold anything is
// written with %XX for what is not plain; an empty one is %.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/marker.h"
#include "limits/record.h"
#include "store/catalog.h"

namespace weir::redis {

class Words {
 public:
  Words& number(std::int64_t number);
  /// A name: it has no space in it and is not empty.
  Words& name(std::string_view name);
  Words& text(std::string_view text);
  std::string& str() { return text_; }

 private:
  void separate();
  std::string text_;
};

/// Reads words; what does not fit leaves failed() behind and gives nothing.
class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}
  std::int64_t number();
  /// How many of something follow, each of at least one word; -1 where it may say that.
  std::int64_t count();
  std::string_view name();
  std::string text();
  bool failed() const { return failed_; }
  bool at_end() const { return text_.empty(); }
  /// Everything was read, and read well.
  bool done() const { return !failed_ && at_end(); }

 private:
  std::string_view text_;
  bool failed_ = false;
};

/// Six words for each limit: name, capacity, burst, refill amount, refill period, rate amount, rate period.
std::string encode(const limits::LimitSet& set);
std::optional<limits::LimitSetRef> decode_set(std::string_view text);
void append(Words& words, std::string_view name, const limits::Parameters& parameters);
limits::NamedParameters read_parameters(WordReader& reader);

std::string encode(const limits::LimitsRecord& record);
limits::LimitsRecordRef decode_limits(std::string_view text);

std::string encode(const Entity& entity);
std::optional<Entity> decode_entity(std::string_view id, std::string_view text);

/// The id first, so that they sort by it.
std::string encode(const store::AuditEvent& event);
std::optional<store::AuditEvent> decode_event(std::string_view text);

/// `2 ENDING DEADLINE k GENERATION*k ENTITY*k n (LIMIT AMOUNT BUCKETS)*n m KEY*m`. Format 1 has neither
/// generations nor entities; its readers still find the deadline in the third word.
std::string encode(const decision::Marker& marker);
/// The part behind the generations, for acquire.lua, which knows the rest.
std::string encode_behind_generations(const decision::LeaseRecord& record,
                                      const std::vector<std::string_view>& entities);
/// Of either format; that of format 1 has no buckets.
std::optional<decision::Marker> decode_marker(std::string_view text);

}  // namespace weir::redis

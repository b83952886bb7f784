// Where each limit stands after a decision.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "weir/amount.h"
#include "weir/detail/export.h"
#include "weir/detail/inline_vector.h"
#include "weir/level.h"

namespace weir {

/// One limit of one bucket. The texts point into the report that it came from.
struct LimitStatus {
  std::string_view entity;
  std::string_view resource;
  std::string_view name;
  Amount capacity;
  Amount burst;
  Amount requested;      ///< what the call asked of this limit; 0 if it did not name it
  Amount remaining;      ///< after the decision; negative in debt
  bool exceeded;         ///< whether this limit refused
  /// How long until this limit alone would admit what was requested: 0 unless exceeded; nothing if it
  /// can never fit.
  std::optional<std::chrono::milliseconds> retry_after;
  Source source;         ///< the level that the limits of this bucket came from
  Owner owner;
};

/// Every limit of every bucket that a call concerned, the charged entity first, then its ancestors.
/// A plain value: copies and moves freely. Not safe to change from several threads.
class WEIR_API LimitReport {
 public:
  std::size_t size() const { return lines_.size(); }
  bool empty() const { return lines_.empty(); }
  LimitStatus operator[](std::size_t index) const;
  /// The first limit with this name, which is the charged entity's own if it has it.
  std::optional<LimitStatus> find(std::string_view name) const;

  class Iterator {
   public:
    using value_type = LimitStatus;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    Iterator(const LimitReport* report, std::size_t index) : report_(report), index_(index) {}
    LimitStatus operator*() const { return (*report_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const LimitReport* report_;
    std::size_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  // What follows is how stores fill a report; it is not part of the public promise.
  static constexpr std::int64_t never_fits = -1;
  struct Line {
    std::int64_t capacity, burst, requested, remaining;
    std::int64_t wait;  ///< milliseconds, or never_fits
    std::uint16_t name_at;
    std::uint8_t name_size;
    std::uint8_t bucket;
    bool named;
    bool exceeded;
  };
  struct Bucket {
    std::uint64_t generation;
    std::uint16_t entity_at;
    std::uint16_t entity_size;
    Source source;
    Owner owner;
  };
  void clear() {
    lines_.clear();
    buckets_.clear();
    text_.clear();
  }
  /// Starts the lines of a bucket. `key` is the entity and, right behind it, the resource; `names` are those
  /// of the bucket's limits, one after the other. Returns where the names stand.
  std::uint16_t add_bucket(std::string_view key, Bucket bucket, std::string_view names) {
    bucket.entity_at = static_cast<std::uint16_t>(text_.size());
    text_.append(key.data(), key.size());
    resource_size_ = static_cast<std::uint16_t>(key.size() - bucket.entity_size);
    buckets_.push_back(bucket);
    const auto names_at = static_cast<std::uint16_t>(text_.size());
    text_.append(names.data(), names.size());
    return names_at;
  }
  /// Room for the lines of the bucket's limits, to be written by the caller.
  Line* add_lines(std::size_t count) { return lines_.extend(count); }
  std::size_t bucket_count() const { return buckets_.size(); }
  const Bucket& bucket(std::size_t index) const { return buckets_[index]; }
  const Line& line(std::size_t index) const { return lines_[index]; }

 private:
  std::string_view text(std::size_t at, std::size_t size) const { return {text_.data() + at, size}; }

  detail::InlineVector<Line, 4> lines_;
  detail::InlineVector<Bucket, 2> buckets_;
  detail::InlineVector<char, 120> text_;  // of each bucket: entity, resource, names of limits
  std::uint16_t resource_size_ = 0;
};

}  // namespace weir

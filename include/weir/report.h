// The balance of each limit after a decision.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/amount.h"
#include "weir/detail/copy.h"
#include "weir/detail/export.h"
#include "weir/level.h"
#include "weir/limit.h"

namespace weir {

/// One limit of one bucket. The texts point into the report that it came from, and are valid as long as that
/// report is neither changed nor destroyed.
struct LimitStatus {
  std::string_view entity;
  std::string_view resource;
  std::string_view name;
  Amount capacity;
  Amount burst;
  /// The amount that the call asked for; 0 if it did not name this limit. After a change to a lease: the
  /// difference that it made.
  Amount requested;
  Amount remaining;  ///< after the decision; negative in debt
  /// `remaining` is an upper bound: other requests may have charged the bucket since it was last read. Only
  /// on stores that do not return the balance after a charge (DynamoDB, where several items are written at
  /// once).
  bool remaining_at_most;
  bool exceeded;  ///< whether this limit refused
  /// How long until this limit alone would admit the request: 0 unless exceeded; nothing if it can never fit.
  std::optional<std::chrono::milliseconds> retry_after;
  std::chrono::seconds window;  ///< time in which an empty bucket refills its capacity, rounded up; 0: none
  Source source;                ///< the level that this limit came from
  Owner owner;
  Mode mode;          ///< of the limit
  Kind kind;          ///< of the limit
  bool would_refuse;  ///< a limit in shadow mode did not hold the amount; it was not charged
  /// The version of the bucket's limits: when the newest change of a level that they come from, or could come
  /// from, was made (ms since the Unix epoch). 0: never changed, or not known.
  std::int64_t version;
};

/// Every limit of every bucket that a call concerned, the charged entity first, then its ancestors.
/// A plain value: copies and moves freely. Not safe to change from several threads.
class WEIR_API LimitReport {
 public:
  LimitReport() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the room for the lines
  LimitReport(const LimitReport& other) { copy(other); }
  LimitReport& operator=(const LimitReport& other) {
    if (this != &other) copy(other);
    return *this;
  }
  ~LimitReport() {
    if (overflow_ != nullptr) [[unlikely]]
      free_overflow();
  }

  std::size_t size() const { return line_count_; }
  bool empty() const { return line_count_ == 0; }
  LimitStatus operator[](std::size_t index) const;
  /// Whether a limit in shadow mode would have refused.
  bool would_refuse() const {
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      if (buckets()[i].named >> 16U != 0) return true;
    }
    return false;
  }
  /// Whether a bucket has a concurrent limit.
  bool has_concurrent() const {
    for (std::size_t i = 0; i < line_count_; ++i) {
      if (lines()[i].name.kind() == Kind::concurrent) return true;
    }
    return false;
  }
  /// The first limit with this name, which is the charged entity's own if it has it.
  std::optional<LimitStatus> find(std::string_view name) const;

  /// An input iterator; each step makes a LimitStatus.
  class Iterator {
   public:
    using value_type = LimitStatus;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = LimitStatus;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    Iterator(const LimitReport* report, std::size_t index) : report_(report), index_(index) {}
    LimitStatus operator*() const { return (*report_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const LimitReport* report_ = nullptr;
    std::size_t index_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  /// @cond
  // The members below are for stores, which fill a report with them; they are not part of the public API.
  static constexpr std::int64_t never_fits = -1;
  /// The position of a limit's name in the names of its bucket.
  struct Name {
    std::uint16_t at;
    std::uint8_t size;
    /// 1 + the Source of an inherited limit, 0: the Source of its bucket; the mode; the kind.
    std::uint8_t marks = 0;
    friend bool operator==(const Name& a, const Name& b) { return a.at == b.at && a.size == b.size; }

    static std::uint8_t marks_of(std::optional<Source> from, Mode mode, Kind kind) {
      const unsigned source = from ? 1 + static_cast<unsigned>(*from) : 0;
      return static_cast<std::uint8_t>(source | static_cast<unsigned>(mode) << 4U |
                                       static_cast<unsigned>(kind) << 6U);
    }
    std::optional<Source> source() const {
      const unsigned from = marks & 15U;
      return from == 0 ? std::nullopt : std::optional(static_cast<Source>(from - 1));
    }
    Mode mode() const { return static_cast<Mode>(marks >> 4U & 3U); }
    Kind kind() const { return static_cast<Kind>(marks >> 6U); }
  };
  struct Line {
    std::int64_t capacity, burst, requested, remaining;
    std::int64_t wait;  ///< milliseconds, or never_fits; the limit is exceeded unless it is 0
    Name name;
    std::uint32_t window;  ///< seconds
    bool exceeded() const { return wait != 0; }
  };
  struct Bucket {
    std::uint64_t generation;
    std::int64_t version;  ///< of the limits, as in LimitStatus
    std::uint32_t named;   ///< bit i: the i-th limit was named and charged; bit 16 + i: it would have refused
    std::uint16_t entity_size;
    Source source;
    Owner owner;
    std::uint16_t text_at;  ///< set by add_bucket, like the fields below
    std::uint8_t first_line;
    bool remaining_is_upper_bound;
  };
  void clear() {
    line_count_ = 0;
    bucket_count_ = 0;
    text_size_ = 0;
  }
  /// Adds a bucket and returns the lines of its `count` limits, for the caller to fill. `key` is the entity
  /// directly followed by the resource; `names` are the concatenated names of the limits.
  Line* add_bucket(std::string_view key, const Bucket& bucket, std::string_view names, std::size_t count) {
    const std::size_t text_size = text_size_ + key.size() + names.size();
    const bool fits =
        line_count_ + count <= inline_lines && bucket_count_ < inline_buckets && text_size <= inline_text;
    Room room{lines_, buckets_, text_};
    if (!fits || overflow_ != nullptr) [[unlikely]]
      room = overflow(count, text_size);
    Bucket& added = room.buckets[bucket_count_];
    added = bucket;
    added.text_at = text_size_;
    added.first_line = line_count_;
    Line* const lines = room.lines + line_count_;
    char* const text = room.text + text_size_;
    resource_size_ = static_cast<std::uint8_t>(key.size() - bucket.entity_size);
    text_size_ = static_cast<std::uint16_t>(text_size);
    line_count_ = static_cast<std::uint8_t>(line_count_ + count);
    ++bucket_count_;
    detail::copy_short(text, key.data(), key.size());
    detail::copy_short(text + key.size(), names.data(), names.size());
    return lines;
  }
  /// For the bucket that was added last.
  void mark_remaining_at_most();
  /// The same: the i-th limit would have refused `requested`, and was not charged.
  void mark_would_refuse(std::size_t limit, std::int64_t requested);
  std::size_t bucket_count() const { return bucket_count_; }
  /// The size of all names together.
  std::size_t text_size() const { return text_size_; }
  const Bucket& bucket(std::size_t index) const { return buckets()[index]; }
  const Line& line(std::size_t index) const { return lines()[index]; }
  /// The name of a line's limit, which costs less than its LimitStatus.
  std::string_view name_of(std::size_t line) const {
    const Name& name = lines()[line].name;
    return {names_of(buckets()[bucket_of(line)]) + name.at, name.size};
  }
  /// The index of the bucket that a line belongs to.
  std::size_t bucket_of(std::size_t line) const;
  /// @endcond

 private:
  // Enough for most chains of two. A larger report moves to the heap as a whole; every other one is cheap to
  // make and to destroy.
  static constexpr std::size_t inline_lines = 4;
  static constexpr std::size_t inline_buckets = 2;
  static constexpr std::size_t inline_text = 120;
  struct Overflow {
    std::vector<Line> lines;
    std::vector<Bucket> buckets;
    std::string text;
  };

  const Line* lines() const { return overflow_ == nullptr ? lines_ : overflow_->lines.data(); }
  const Bucket* buckets() const { return overflow_ == nullptr ? buckets_ : overflow_->buckets.data(); }
  /// The names of the limits of a bucket, one after the other.
  const char* names_of(const Bucket& bucket) const {
    return texts() + bucket.text_at + bucket.entity_size + resource_size_;
  }
  const char* texts() const { return overflow_ == nullptr ? text_ : overflow_->text.data(); }
  struct Room {
    Line* lines;
    Bucket* buckets;
    char* text;
  };
  /// Makes room on the heap for one bucket more, with `count` lines, and for `text_size` bytes of text.
  Room overflow(std::size_t count, std::size_t text_size);
  void free_overflow();
  void copy(const LimitReport& other);

  Overflow* overflow_ = nullptr;
  std::uint16_t text_size_ = 0;
  std::uint8_t resource_size_ = 0;
  std::uint8_t line_count_ = 0;
  std::uint8_t bucket_count_ = 0;
  Bucket buckets_[inline_buckets];  // not initialised, like the members below
  Line lines_[inline_lines];
  char text_[inline_text];  // of each bucket: entity, resource, names of limits
};

}  // namespace weir

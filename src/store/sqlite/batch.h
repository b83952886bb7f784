// Rows to be written to the file: copied from the table under its locks, and written afterwards.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/sqlite/codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/usage_file.h"
#include "store/table/backing.h"

namespace weir::sqlite {

/// In the column usage_hour_ms: usage is not counted.
inline constexpr Time not_counted = -1;

/// Not safe for concurrent use.
class Batch final : public table::Sink {
 public:
  explicit Batch(Database& database);

  void put(const table::Record& record) override;
  void put(const table::Nonce& nonce, const table::Marker& marker) override;
  void put(const table::ClosedSegment& closed) override { closed_.push_back(closed); }

  bool empty() const { return rows_.empty() && markers_.empty() && closed_.empty(); }
  std::size_t buckets() const { return rows_.size(); }
  /// Buckets that are new to the file.
  std::size_t new_buckets() const { return new_buckets_; }
  std::size_t leases() const { return markers_.size(); }

  /// Writes all rows inside the caller's transaction. The batch keeps them until clear(), so that a failed
  /// transaction can be retried.
  Result<void> write();
  /// After a commit.
  void clear();
  /// After a rollback.
  void rolled_back() { set_ids_.clear(); }

 private:
  struct Row {
    std::size_t text_at = 0;
    std::size_t balances_at = 0;
    std::size_t entity_size = 0;
    std::size_t resource_size = 0;
    std::size_t name_space_size = 0;
    std::size_t holds_size = 0;
    Time refilled_at = 0;
    Time expires_at = 0;
    std::int64_t version = 0;
    std::uint64_t generation = 0;
    Dormant dormant = 0;
    Time usage_hour = not_counted;
    std::uint64_t usage_segment = 0;
    std::uint32_t usage_events = 0;
    bool is_new = false;  ///< to the file
    limits::LimitSetRef limits;
  };
  std::string_view key_text(const Row& row) const {
    return {texts_.data() + row.text_at, row.entity_size + row.resource_size + row.name_space_size};
  }
  std::string_view holds(const Row& row) const {
    return {texts_.data() + row.text_at + key_text(row).size(), row.holds_size};
  }
  Result<void> write_bucket(const Row& row);
  /// Binds the row, `scratch_` and `amounts_`.
  Statement& bind_bucket(Statement& statement, const Row& row, std::int64_t limit_set);
  Result<void> close_predecessor(const Row& row);
  Result<void> write_usage(const table::ClosedSegment& closed);
  void append_usage(const Row& row);
  Result<void> write_marker(const table::Nonce& nonce, const table::Marker& marker);
  Result<std::int64_t> set_id(const limits::LimitSetRef& set);

  Database& database_;
  Statement upsert_bucket_;
  Statement update_bucket_;
  Statement close_usage_;
  Statement upsert_lease_;
  Statement upsert_usage_;
  Statement find_set_;
  Statement add_set_;
  std::string texts_;
  std::string scratch_;
  std::string amounts_;
  std::vector<table::Balance> balances_;
  std::vector<Row> rows_;
  std::size_t new_buckets_ = 0;
  std::vector<std::pair<table::Nonce, table::Marker>> markers_;
  std::vector<table::ClosedSegment> closed_;
  struct KnownSet {
    limits::LimitSetRef set;  // keeps its address from being reused
    std::int64_t id;
  };
  std::unordered_map<const limits::LimitSet*, KnownSet> set_ids_;
};

}  // namespace weir::sqlite

// Deletes expired rows, a slice at a time.
#pragma once

#include <string>
#include <vector>

#include "store/sqlite/database.h"
#include "store/sqlite/usage_file.h"
#include "weir/clock.h"

namespace weir::sqlite {

/// Not safe for concurrent use.
class Cleaner {
 public:
  explicit Cleaner(Database& database);

  struct Moment {
    Time now = 0;
    Time oldest_audit = 0;  ///< events at or before this are deleted
    store::UsageKept usage_kept = {};
  };

  /// Rows added since the last slice: cleaning must keep up with them, however many come in one commit.
  struct Added {
    std::size_t buckets = 0;
    std::size_t leases = 0;
    std::size_t events = 0;
  };
  void expect(const Added& added) {
    owed_ += looked_at_per_new_row * (added.buckets + added.leases + added.events);
  }
  /// Visits a slice of the buckets, deletes a slice of the leases and of the audit, and folds a slice of the
  /// usage, in one transaction.
  /// False: this was the end of a round.
  Result<bool> clean(const Moment& moment);
  /// Whether rows are added faster than they are visited.
  bool behind() const { return owed_ >= least_slice; }

 private:
  // As in memory: more rows are visited than added, so cleaning keeps up with filling.
  static constexpr std::size_t looked_at_per_new_row = 4;
  static constexpr std::size_t least_slice = 500;

  struct BucketKey {
    std::string name_space;
    std::string entity;
    std::string resource;
  };
  Result<bool> clean_buckets(Time now);
  Result<std::vector<BucketKey>> expired_in_next_slice(Time now, bool& at_end);
  Result<bool> clean_leases(Time now);
  Result<bool> clean_audit(Time oldest);

  Database& database_;
  Statement next_buckets_;
  Statement close_usage_;
  Statement delete_bucket_;
  Statement last_lease_;
  Statement delete_leases_;
  Statement remember_leases_;
  Statement delete_audit_;
  UsageFolder usage_;
  BucketKey cleaned_to_;
  std::size_t owed_ = 0;
  std::size_t slice_ = least_slice;
};

}  // namespace weir::sqlite

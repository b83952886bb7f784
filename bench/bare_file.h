// The rival of the SQLite store: decides in memory and upserts the rows that changed, in batches of a given
// size, with the same pragmas, into the same table. It has no levels, no leases and one thread.
#pragma once

#include <sqlite3.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/hash.h"
#include "bucket/refill.h"
#include "limits/limit_set.h"
#include "weir/weir.h"

namespace weir::bench {

class BareFile {
 public:
  BareFile(const std::string& path, const Clock& clock, const char* limit) : clock_(clock) {
    parameters_ = limits::parameters_of(*Limit::parse(limit));
    check(sqlite3_open(path.c_str(), &database_));
    // A log as long as the store's before it is copied.
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000; "
        "PRAGMA cache_size = -65536; CREATE TABLE buckets (namespace TEXT NOT NULL, entity TEXT NOT NULL, "
        "resource TEXT NOT NULL, balances TEXT NOT NULL, limit_set INTEGER NOT NULL, refilled_at_ms INTEGER "
        "NOT NULL, expires_at_ms INTEGER, version INTEGER NOT NULL, generation INTEGER NOT NULL, "
        "PRIMARY KEY (namespace, entity, resource)) STRICT, WITHOUT ROWID");
    check(sqlite3_prepare_v2(
        database_,
        "INSERT INTO buckets VALUES ('default', ?1, 'gpt-4', ?2, 1, ?3, ?4, 1, ?5) ON CONFLICT DO UPDATE SET "
        "balances = excluded.balances, limit_set = excluded.limit_set, refilled_at_ms = "
        "excluded.refilled_at_ms, expires_at_ms = excluded.expires_at_ms, version = excluded.version, "
        "generation = excluded.generation",
        -1, &upsert_, nullptr));
  }
  ~BareFile() {
    sqlite3_finalize(upsert_);
    sqlite3_close(database_);
  }
  BareFile(const BareFile&) = delete;
  BareFile& operator=(const BareFile&) = delete;

  void acquire(const std::string& entity, std::int64_t first, std::int64_t second) {
    const Time now = clock_.now();
    auto found = map_.find(entity);
    if (found == map_.end()) {
      const std::int64_t full = parameters_.capacity;
      found = map_.emplace(entity, Bucket{now, {full, full}, {0, 0}, map_.size() + 1, false}).first;
    }
    Bucket& bucket = found->second;
    const Time at = std::max(now, bucket.refilled_at);
    const std::int64_t amounts[2] = {first, second};
    for (int i = 0; i < 2; ++i) {
      const auto claim = bucket::claim(parameters_.rate, parameters_.burst, bucket.refilled_at, at);
      bucket.tokens[i] = claim.held(bucket.tokens[i]) - amounts[i];
      bucket.consumed[i] += amounts[i];
      if (bucket.tokens[i] < 0) std::abort();
    }
    bucket.refilled_at = at;
    if (!bucket.dirty) dirty_.push_back(&entity);
    bucket.dirty = true;
  }
  /// Writes what changed; returns how many rows.
  std::size_t commit() {
    const std::size_t rows = dirty_.size();
    std::sort(dirty_.begin(), dirty_.end(), [](const auto* a, const auto* b) { return *a < *b; });
    run("BEGIN IMMEDIATE");
    for (const std::string* entity : dirty_) write(*entity);
    run("COMMIT");
    dirty_.clear();
    return rows;
  }

 private:
  struct Bucket {
    Time refilled_at;
    std::int64_t tokens[2];
    std::int64_t consumed[2];
    std::size_t generation;
    bool dirty;
  };
  void write(const std::string& entity) {
    Bucket& bucket = map_.find(entity)->second;
    bucket.dirty = false;
    char text[128];
    const int size =
        std::snprintf(text, sizeof text, R"({"rpm":[%lld,%lld],"tpm":[%lld,%lld]})",
                      static_cast<long long>(bucket.tokens[0]), static_cast<long long>(bucket.consumed[0]),
                      static_cast<long long>(bucket.tokens[1]), static_cast<long long>(bucket.consumed[1]));
    sqlite3_bind_text(upsert_, 1, entity.data(), static_cast<int>(entity.size()), SQLITE_STATIC);
    sqlite3_bind_text(upsert_, 2, text, size, SQLITE_STATIC);
    sqlite3_bind_int64(upsert_, 3, bucket.refilled_at);
    sqlite3_bind_int64(upsert_, 4, bucket.refilled_at + 420'000);
    sqlite3_bind_int64(upsert_, 5, static_cast<std::int64_t>(bucket.generation));
    if (sqlite3_step(upsert_) != SQLITE_DONE) std::abort();
    sqlite3_reset(upsert_);
  }
  static void check(int code) {
    if (code != SQLITE_OK) std::abort();
  }
  void run(const char* sql) { check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr)); }

  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(const std::string& text) const {
      return base::hash(text, {0x9e3779b97f4a7c15U, 0xc2b2ae3d27d4eb4fU});
    }
  };
  const Clock& clock_;
  limits::Parameters parameters_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* upsert_ = nullptr;
  boost::unordered_flat_map<std::string, Bucket, Hash> map_;
  std::vector<const std::string*> dirty_;
};

}  // namespace weir::bench

#include "store/sqlite/schema.h"

#include "base/text.h"
#include "store/client_version.h"

namespace weir::sqlite {
namespace {

// From version 0, a new file, to 1.
constexpr const char* first_tables = R"sql(
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE limits (
  namespace TEXT NOT NULL,
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  limits TEXT,
  owner TEXT NOT NULL CHECK (owner IN ('operator', 'sync')),
  expires_at_ms INTEGER,
  bucket_ttl_refill_multiplier INTEGER,
  on_unavailable TEXT CHECK (on_unavailable IN ('allow', 'deny')),
  from_file INTEGER NOT NULL,
  stamp INTEGER NOT NULL,
  earlier TEXT NOT NULL,
  PRIMARY KEY (namespace, entity, resource)
) STRICT, WITHOUT ROWID;

CREATE TABLE entities (
  namespace TEXT NOT NULL,
  id TEXT NOT NULL,
  parent TEXT,
  cascade INTEGER NOT NULL,
  name TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  from_file INTEGER NOT NULL,
  PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE limit_sets (
  id INTEGER PRIMARY KEY,
  limits TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE buckets (
  namespace TEXT NOT NULL,
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  balances TEXT NOT NULL,
  limit_set INTEGER NOT NULL,
  refilled_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER,
  version INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (namespace, entity, resource)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
  nonce BLOB PRIMARY KEY,
  ending TEXT NOT NULL CHECK (ending IN ('open', 'settled', 'rolled back')),
  amounts TEXT NOT NULL,
  keys TEXT NOT NULL,
  deadline_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX leases_by_deadline ON leases (deadline_ms);

CREATE TABLE audit (
  namespace TEXT NOT NULL,
  id TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  principal TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  resource TEXT,
  before TEXT,
  after TEXT,
  PRIMARY KEY (namespace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_subject ON audit (namespace, subject, id);
CREATE INDEX audit_by_time ON audit (at_ms);

CREATE VIEW balances AS
SELECT b.namespace, b.entity, b.resource, each.key AS "limit",
  json_extract(each.value, '$[0]') / 1000.0 AS tokens,
  json_extract(each.value, '$[1]') / 1000.0 AS consumed,
  json_extract(s.limits, '$."' || each.key || '".capacity') AS capacity,
  json_extract(s.limits, '$."' || each.key || '".burst') AS burst,
  json_extract(s.limits, '$."' || each.key || '".refill_amount') AS refill_amount,
  json_extract(s.limits, '$."' || each.key || '".refill_period_ms') AS refill_period_ms,
  datetime(b.refilled_at_ms / 1000, 'unixepoch') AS refilled_at,
  datetime(b.expires_at_ms / 1000, 'unixepoch') AS expires_at
FROM buckets AS b JOIN limit_sets AS s ON s.id = b.limit_set, json_each(b.balances) AS each;
)sql";

// From 1 to 2: leases name the buckets that they charged, the file has the time of its last commit, and every
// record has a column for fields of later versions. Programs keep fields that they do not know; a field that
// must be known raises settings.least_client.
constexpr const char* named_buckets_and_later_fields = R"sql(
ALTER TABLE leases ADD COLUMN buckets TEXT NOT NULL DEFAULT '[]';
ALTER TABLE leases ADD COLUMN later TEXT;
ALTER TABLE buckets ADD COLUMN later TEXT;
ALTER TABLE limits ADD COLUMN later TEXT;
ALTER TABLE entities ADD COLUMN later TEXT;
INSERT INTO settings (name, value) VALUES ('least_client', 2);
INSERT INTO settings (name, value)
SELECT 'written_at_ms', newest FROM (SELECT max(refilled_at_ms) AS newest FROM buckets) WHERE newest IS NOT NULL;
)sql";

// From 2 to 3: usage. A bucket has its open segment, which counts within one hour; usage_hour_ms is NULL
// where an earlier version wrote the bucket and -1 where its usage is not counted. The table `usage` has
// closed segments and, for the time that hours are not kept for, sums of whole days, whose segment is 0.
constexpr const char* usage_tables = R"sql(
ALTER TABLE buckets ADD COLUMN usage_hour_ms INTEGER;
ALTER TABLE buckets ADD COLUMN usage_segment INTEGER NOT NULL DEFAULT 0;
ALTER TABLE buckets ADD COLUMN usage_events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE buckets ADD COLUMN usage_amounts TEXT NOT NULL DEFAULT '{}';
CREATE INDEX buckets_by_resource ON buckets (namespace, resource);

CREATE TABLE usage (
  namespace TEXT NOT NULL,
  entity TEXT NOT NULL,
  resource TEXT NOT NULL,
  start_ms INTEGER NOT NULL,
  window TEXT NOT NULL CHECK (window IN ('hour', 'day')),
  segment INTEGER NOT NULL,
  amounts TEXT NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (namespace, entity, resource, start_ms, window, segment)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_resource ON usage (namespace, resource, start_ms, entity);
CREATE INDEX usage_by_time ON usage (window, start_ms);
)sql";

/// steps[i] leads from version i to i + 1. A released step must never be changed.
constexpr const char* steps[] = {first_tables, named_buckets_and_later_fields, usage_tables};
static_assert(std::size(steps) == schema_version);

/// True, or an error if this version must not open the file.
Result<bool> check_least_client(Database& database) {
  auto least = database.number("SELECT value FROM settings WHERE name = 'least_client'");
  if (!least) return least.error();
  if (*least <= store::client_version) return true;
  return base::error(ErrorCode::conflict, database.path(),
                     ": holds what only a newer weir understands (it asks for ", std::to_string(*least),
                     ", this one knows ", std::to_string(store::client_version),
                     "); use that version or a later one. Nothing was changed");
}

}  // namespace

Result<bool> check_version(Database& database) {
  auto version = database.number("PRAGMA user_version");
  if (!version) return version.error();
  auto id = database.number("PRAGMA application_id");
  if (!id) return id.error();
  auto tables = database.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  const bool empty = *version == 0 && *id == 0 && *tables == 0;
  if (!empty && *id != application_id) {
    return base::error(ErrorCode::conflict, database.path(),
                       ": this is another program's SQLite file; name another file");
  }
  if (*version > schema_version) {
    return base::error(ErrorCode::conflict, database.path(), ": written by a newer weir (file version ",
                       std::to_string(*version), ", this one knows ", std::to_string(schema_version),
                       "); use that version or a later one. Nothing was changed");
  }
  if (*version < 2) return false;
  auto known = check_least_client(database);
  if (known && *version < schema_version) return false;
  return known;
}

Result<void> migrate(Database& database) {
  Transaction transaction(database);
  if (auto begun = transaction.begin(); !begun) return begun;
  auto version = database.number("PRAGMA user_version");
  if (!version) return version.error();
  for (auto at = static_cast<std::size_t>(*version); at < std::size(steps); ++at) {
    if (auto stepped = database.execute(steps[at]); !stepped) return stepped;
  }
  const std::string marks = base::join("PRAGMA application_id = ", std::to_string(application_id),
                                       "; PRAGMA user_version = ", std::to_string(schema_version));
  if (auto marked = database.execute(marks.c_str()); !marked) return marked;
  return transaction.commit();
}

Result<void> set_up(Database& database, Access access) {
  // The checkpointer makes the checkpoints, so that no commit waits for one.
  const char* const sql = access == Access::write
                              ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; "
                                "PRAGMA wal_autocheckpoint = 0; "
                                "PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -65536"
                              : "PRAGMA cache_size = -16384; PRAGMA query_only = ON";
  return database.execute(sql);
}

}  // namespace weir::sqlite

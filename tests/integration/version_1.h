// A file as weir wrote it in version 1 of the layout: the dump of one that a program of that version made.
#pragma once

namespace weir::version_1 {

/// Just after its last write.
inline constexpr long long written_at = 1794887112236;
/// Of an acquire by "key" on "gpt-4" for 1 rpm and 500 tpm, adjusted by 100 tpm under the key "more" and then
/// settled to 200 tpm.
inline constexpr const char* settled_lease =
    "w16KcvxjmQMmrgR-sGMJ8s8AFUrUbfxAvn6xYPcEWZtNec_aTnoQEAAAcAZGVmYXVsdAUAZ3B0LTQCAwBrZXmcRfGDk_"
    "UbawcAcHJvamVjdJ1F8YOT9RtrAgMAcnBt6AMAAAAAAAADAwB0cG0goQcAAAAAAAM";

/// "anonymous" also acquired 6 rpm and 1000 tpm for "key" on "gpt-4" under the key "once-1". Limit "old" of
/// "dozy" was removed while 40 of its 100 tokens were taken.
inline constexpr const char* file = R"sql(
PRAGMA application_id = 0x77656972;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
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
INSERT INTO audit VALUES('default','01794887112087-0000000001',1794887112087,'anonymous','limits.set','$SYSTEM',NULL,NULL,'{"limits":{"rpm":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"tpm":{"capacity":50000,"burst":50000,"refill_amount":50000,"refill_period_ms":86400000}},"owner":"operator","bucket_ttl_refill_multiplier":3,"on_unavailable":"allow"}');
INSERT INTO audit VALUES('default','01794887112133-0000000002',1794887112133,'anonymous','limits.set','$RESOURCE:gpt-4',NULL,NULL,'{"limits":{"rpm":{"capacity":50,"burst":80,"refill_amount":50,"refill_period_ms":86400000}},"owner":"operator"}');
INSERT INTO audit VALUES('default','01794887112134-0000000003',1794887112134,'anonymous','limits.delete','$RESOURCE:gpt-4',NULL,'{"limits":{"rpm":{"capacity":50,"burst":80,"refill_amount":50,"refill_period_ms":86400000}},"owner":"operator"}',NULL);
INSERT INTO audit VALUES('default','01794887112135-0000000004',1794887112135,'anonymous','limits.set','key','other',NULL,'{"limits":{"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}},"owner":"sync","expires_at_ms":1794973512135}');
INSERT INTO audit VALUES('default','01794887112140-0000000005',1794887112140,'anonymous','entity.put','key',NULL,NULL,'{"parent":"project","cascade":true,"name":"Key","metadata":{"team":"a"}}');
INSERT INTO audit VALUES('default','01794887112188-0000000006',1794887112188,'anonymous','limits.set','dozy','gpt-4',NULL,'{"limits":{"old":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}},"owner":"operator"}');
INSERT INTO audit VALUES('default','01794887112234-0000000007',1794887112234,'anonymous','limits.set','dozy','gpt-4','{"limits":{"old":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}},"owner":"operator"}','{"limits":{"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}},"owner":"operator"}');
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
INSERT INTO buckets VALUES('default','dozy','gpt-4','{"old":[60000,40000,1],"rpm":[8000,2000]}',2,1794887112236,NULL,1794887112234,7718032400352101790);
INSERT INTO buckets VALUES('default','key','gpt-4','{"rpm":[93000,7000],"tpm":[48800016,1200000]}',1,1794887112180,1795146312180,1794887112134,7718032400352101788);
INSERT INTO buckets VALUES('default','project','gpt-4','{"rpm":[93000,7000],"tpm":[48800016,1200000]}',1,1794887112180,1795146312180,1794887112134,7718032400352101789);
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
INSERT INTO entities VALUES('default','key','project',1,'Key','{"team":"a"}',1794887112140,0);
CREATE TABLE leases (
  nonce BLOB PRIMARY KEY,
  ending TEXT NOT NULL CHECK (ending IN ('open', 'settled', 'rolled back')),
  amounts TEXT NOT NULL,
  keys TEXT NOT NULL,
  deadline_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO leases VALUES(X'0154AD46DFC40BE7EB160F704599B4D7','settled','[["rpm",1000,3],["tpm",200000,3]]','["more"]',1794887712156);
INSERT INTO leases VALUES(X'394E49D7B9B33D0EC863F6FCBE9F6F23','open','[["rpm",6000,3],["tpm",1000000,3]]','[]',1794887712152);
CREATE TABLE limit_sets (
  id INTEGER PRIMARY KEY,
  limits TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO limit_sets VALUES(1,'{"rpm":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"tpm":{"capacity":50000,"burst":50000,"refill_amount":50000,"refill_period_ms":86400000}}');
INSERT INTO limit_sets VALUES(2,'{"old":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}}');
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
INSERT INTO limits VALUES('default','','','{"rpm":{"capacity":100,"burst":100,"refill_amount":100,"refill_period_ms":86400000},"tpm":{"capacity":50000,"burst":50000,"refill_amount":50000,"refill_period_ms":86400000}}','operator',NULL,3,'allow',0,1794887112087,'[]');
INSERT INTO limits VALUES('default','','gpt-4',NULL,'operator',NULL,NULL,NULL,0,1794887112134,'[{"stamp":1794887112133,"gap":false,"limits":{"rpm":[50000,80000,1,1728]}}]');
INSERT INTO limits VALUES('default','dozy','gpt-4','{"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}}','operator',NULL,NULL,NULL,0,1794887112234,'[{"stamp":1794887112188,"gap":false,"limits":{"old":[100000,100000,1,864],"rpm":[10000,10000,1,8640]}}]');
INSERT INTO limits VALUES('default','key','other','{"rpm":{"capacity":10,"burst":10,"refill_amount":10,"refill_period_ms":86400000}}','sync',1794973512135,NULL,NULL,0,1794887112135,'[]');
CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES('lease_key',X'018945C406AFCFF24432EDF078CAE45F99C89BDC7E738AD8FDFB5816B9759397');
CREATE INDEX leases_by_deadline ON leases (deadline_ms);
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
COMMIT;
)sql";

}  // namespace weir::version_1

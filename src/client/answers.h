// Parses the answers of a service into the types that they were made from. The inverse of api/; pure.
//
// The text is untrusted: every number and length is checked, and a mismatch is an error. Unknown fields are
// skipped, since a newer service may add some.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/target.h"

namespace weir::client {

/// A problem (RFC 9457), as far as it could be parsed.
struct Problem {
  std::string type;
  std::string detail;
};

/// An acquire that was admitted, or the problem of one that was refused.
Result<Acquired> read_acquired(std::string_view json);
Result<Decision> read_available(std::string_view json);
Result<LimitReport> read_report(std::string_view json);
/// The deadline of a lease that was extended.
Result<Time> read_extended(std::string_view json);

Result<StoredLimits> read_stored(std::string_view json, const Level& level);
Result<EffectiveLimits> read_effective(std::string_view json);
Result<Page<StoredLimits>> read_limits_page(std::string_view json);

Result<Entity> read_entity(std::string_view json);
/// An entity with the rules of one kind.
Result<Entity> read_access(std::string_view json);
Result<Page<Entity>> read_entities_page(std::string_view json);
Result<LimitsPlan> read_plan(std::string_view json);
Result<Page<LimitsPlan>> read_plans_page(std::string_view json);
/// `name`: of the list, "children" or "members".
Result<Page<std::string>> read_ids_page(std::string_view json, const char* name);
Result<Bucket> read_one_bucket(std::string_view json);
Result<Page<Bucket>> read_buckets_page(std::string_view json);

Result<Page<AuditEvent>> read_audit_page(std::string_view json);
Result<Namespace> read_namespace(std::string_view json);
Result<std::vector<Namespace>> read_namespaces(std::string_view json);
Result<Page<Usage>> read_usage_page(std::string_view json);
Result<std::vector<UsageTotal>> read_top_usage(std::string_view json);
Result<decision_log::Entry> read_entry(std::string_view json);
Result<Page<decision_log::Entry>> read_entries_page(std::string_view json);
Result<std::vector<store::Finding>> read_findings(std::string_view json);

Result<Problem> read_problem(std::string_view json);

}  // namespace weir::client

// A copy of a store's content into another store. Each store reads its records into the types below, and
// writes them from these types, so that a record is the same in every store.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bucket/state.h"
#include "decision/marker.h"
#include "limits/plan.h"
#include "limits/record.h"
#include "store/store.h"
#include "weir/catalog.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/usage.h"

namespace weir::store {

/// The limits of a level, deleted ones too: their stamp must not be used again.
struct CopiedLimits {
  Level level;
  limits::LimitsRecordRef record;
};

struct CopiedPlan {
  std::string name;
  limits::PlanRecordRef record;
};

struct CopiedBucket {
  std::string entity;
  std::string resource;
  bucket::State state;
  bool counts_usage = true;
};

/// The marker of a lease. A lease without one is in its id alone, which the lease key and the generations of
/// the buckets keep valid.
struct CopiedLease {
  std::string entity;  ///< that the marker is kept beside; empty: not known
  decision::Nonce nonce{};
  decision::Marker marker;
};

/// The windows of one day of an entity on a resource, by their start, with what the bucket counts at present:
/// hours, or the whole day.
struct CopiedUsage {
  std::string entity;
  std::string resource;
  Time day = 0;  ///< its start
  std::vector<Usage> rows;
};

using CopiedContent =
    std::variant<CopiedLimits, CopiedPlan, Entity, CopiedBucket, CopiedLease, CopiedUsage, AuditEvent>;
/// The names of the kinds, by the index of the variant.
inline constexpr std::array<std::string_view, 7> copied_kinds = {"limits", "plans", "entities",    "buckets",
                                                                 "leases", "usage", "audit events"};

struct CopyRecord {
  std::string name_space;
  CopiedContent content;
  std::size_t kind() const { return content.index(); }
};

/// What identifies a record.
std::string key_of(const CopyRecord& record);
/// The same in words, for messages: `bucket of "key-1" on "gpt-4" in namespace "default"`.
std::string described(const CopyRecord& record);
/// Everything else in the record. Two records with the same key are the same if these texts are.
/// Leaves out what stores keep differently without a difference in meaning.
std::string content_of(const CopyRecord& record);

/// The settings of a store that its content depends on.
struct CopySettings {
  LeaseKey lease_key{};
  Time keep_audit_for = 0;
  UsageKept keep_usage = {};
};

/// Which records are read.
struct CopyScope {
  std::string name_space = {};  ///< empty: every one
  Time alive_at = 0;            ///< records that have expired at this moment are left out
  CopySettings settings = {};   ///< of the source: how long the audit and usage are kept
};

/// Collects records into pages, without those outside the scope.
class CopyPages {
 public:
  using Visit = std::function<Result<void>(std::vector<CopyRecord> page)>;
  /// The arguments must outlive the object.
  CopyPages(const CopyScope& scope, const Visit& visit) : scope_(scope), visit_(visit) {}
  bool wants(std::string_view name_space) const {
    return scope_.name_space.empty() || scope_.name_space == name_space;
  }
  Time alive_at() const { return scope_.alive_at; }
  Result<void> add(CopyRecord record);
  /// Adds a row of usage to its day. The rows of a day come one after the other; end_usage() follows the last
  /// one.
  Result<void> add_usage(const std::string& name_space, Usage row);
  Result<void> end_usage();
  /// Hands over the last page.
  Result<void> flush();

 private:
  bool is_in_scope(CopyRecord& record) const;

  const CopyScope& scope_;
  const Visit& visit_;
  std::vector<CopyRecord> page_;
  std::optional<CopyRecord> day_;  ///< of usage, not added yet
};

/// Reads a store. Blocks; not safe for concurrent use.
class CopyReader {
 public:
  virtual ~CopyReader() = default;
  virtual Result<CopySettings> settings() = 0;
  /// Visits every record in the scope once, page by page; limits, plans and entities come before the rest of
  /// their namespace. Ends with the first error of `visit`. Fails on a record that cannot be used.
  virtual Result<void> read(const CopyScope& scope, const CopyPages::Visit& visit) = 0;
};

/// Writes a store that nothing else uses. Blocks; not safe for concurrent use.
class CopyWriter : public CopyReader {
 public:
  /// The name of the copy that was begun here and has not ended; empty: there is none.
  virtual Result<std::string> unfinished() = 0;
  /// Takes over the settings and remembers the name of the copy. Requires an empty store.
  virtual Result<void> begin(const std::string& copy, const CopySettings& settings) = 0;
  /// Changes a record to what this store keeps of it. False: the store cannot keep it.
  virtual bool fit(CopyRecord& record) const = 0;
  /// Writes records that fit(). Fails where one of them is stored already; then some may have been written,
  /// each of them whole.
  virtual Result<void> put(const std::vector<CopyRecord>& page) = 0;
  /// Forgets the name of the copy.
  virtual Result<void> end() = 0;
};

/// The error of a put that finds something in its way.
Error in_the_way(const CopyRecord& record);
/// The error for a source with records that cannot be used. `sentence`: about the first.
Error cannot_be_copied(const std::string& sentence);

/// What the records of a page require of the namespace that they are in, and of programs that read them.
struct CopyNeeds {
  Time stamp = 0;             ///< the latest of limits, plans and assignments of plans
  Time audited_to = 0;        ///< the latest moment of the audit
  std::int64_t sequence = 0;  ///< the highest number in the id of an event
  int client = 0;             ///< the least version of weir
  void add(const CopyRecord& record);
};

}  // namespace weir::store

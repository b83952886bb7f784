// The limiter: the API of weir for programs that embed it.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/detail/export.h"
#include "weir/entity.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/result.h"

namespace weir {

namespace limiter {
class Core;
}

/// How a Limiter is opened.
struct Options {
  /// An isolated tenant inside the store: 1 to 32 of a-z, 0-9 and "-".
  std::string name_space = "default";
  /// The source of time; must outlive the Limiter. Null: the machine's clock, and on Redis the server's. All
  /// processes on a shared store must agree on the time: set a clock only in tests.
  const Clock* clock = nullptr;
  /// The principal that the audit names for changes of limits and entities: 1 to 128 bytes of UTF-8.
  std::string principal = "library";
  /// How long a lease can be changed after its acquire.
  std::chrono::milliseconds lease_deadline = std::chrono::minutes(10);
  /// An unused bucket is kept for this many times the time to fill it, unless the system level sets its own
  /// factor.
  int bucket_ttl_refill_multiplier = 7;
  /// How long the store keeps the audit. Nothing: the stored setting stays; a new store has one year.
  std::optional<std::chrono::milliseconds> keep_audit_for = {};
  /// Embedded files only: whether to create a missing file; if not, opening it fails.
  bool create = true;
  /// Redis only: whether opening fails while the server is unavailable. If not, calls fail with unavailable
  /// until the server answers.
  bool must_be_reachable = true;
  /// Embedded files only: how long to wait until another process releases the file.
  std::chrono::milliseconds wait_for_file{0};
};

/// Limits that are sent with requests, the lowest level: they hold where no stored level has any. Made
/// once and used for many requests. Cheap to copy.
class WEIR_API RequestLimits {
 public:
  static Result<RequestLimits> make(const std::vector<LimitText>& limits);
  static Result<RequestLimits> make(std::span<const NamedLimit> limits);

 private:
  friend class limiter::Core;
  struct Set;
  explicit RequestLimits(std::shared_ptr<const Set> set) : set_(std::move(set)) {}
  std::shared_ptr<const Set> set_;
};

/// Options of acquire() and available().
struct AcquireOptions {
  /// The lowest level of limits for the entity's own bucket; null: none.
  const RequestLimits* limits = nullptr;
  /// Makes retries safe; 1 to 128 bytes. The same request by the same principal with the same key is charged
  /// once, and until the lease's deadline every repetition is answered with the same lease. A refusal is not
  /// remembered. Empty: every acquire is a new one.
  std::string_view idempotency_key = {};
};

/// Decides requests on one store, in one namespace. Moving it keeps its leases valid; a Limiter that was
/// moved from can only be destroyed or assigned to. Texts that are passed in need to live only as long as the
/// call.
///
/// Names: an entity is 1 to 256 letters, digits and `_-.:@/+=`; a resource 1 to 128 letters, digits and
/// `_-.:/*` (a `*` is a character like any other), not `_default_`; a limit a letter, then letters, digits,
/// `_` and `-`, at most 64. A bucket has at most 16 limits, a chain at most 8 entities, a request names at
/// most 64 limits, a page holds 1 to 1000 items.
///
/// Safe to use from any thread. Calls block until the store answers; the embedded stores answer at once.
/// Every failure is an Error that names its cause and changes nothing, unless its code is outcome_unknown.
class WEIR_API Limiter {
 public:
  /// Opens a store by its URL: `memory:` (also `memory`), `sqlite:PATH`, or `redis://HOST:PORT` (`rediss://`
  /// with TLS). A missing file is created. Limiters on the same file in one process share it; another process
  /// is refused. A Redis server is shared by every process; opening one that is unavailable is an error.
  static Result<Limiter> open(std::string_view url, const Options& options = {});

  Limiter(Limiter&&) noexcept;
  Limiter& operator=(Limiter&&) noexcept;
  ~Limiter();

  /// Charges the entity, and its ancestors as far as charges cascade, for all named limits at once, or
  /// for nothing at all. A limit that is named with 0 is checked (refused while in debt), one that is
  /// not named is neither checked nor charged. A refusal is an answer, not an error.
  Result<Decision> acquire(std::string_view entity, std::string_view resource,
                           std::initializer_list<Charge> consume, const AcquireOptions& options = {}) {
    return acquire(entity, resource, std::span(consume.begin(), consume.size()), options);
  }
  Result<Decision> acquire(std::string_view entity, std::string_view resource,
                           std::span<const Charge> consume, const AcquireOptions& options = {});

  /// The answer that acquire would give. Charges nothing, and promises nothing: the wait of a bucket that
  /// does not exist yet is guaranteed only after an acquire was refused.
  Result<Decision> available(std::string_view entity, std::string_view resource,
                             std::initializer_list<Charge> consume = {}, const AcquireOptions& options = {}) {
    return available(entity, resource, std::span(consume.begin(), consume.size()), options);
  }
  Result<Decision> available(std::string_view entity, std::string_view resource,
                             std::span<const Charge> consume, const AcquireOptions& options = {});

  /// Changes to a lease by its id, from any process on the same store. An adjust needs a key of 1 to 128
  /// characters: the same key again changes nothing more, whatever the amounts.
  Result<LimitReport> adjust(std::string_view lease_id, std::initializer_list<Charge> differences,
                             std::string_view key) {
    return adjust(lease_id, std::span(differences.begin(), differences.size()), key);
  }
  Result<LimitReport> adjust(std::string_view lease_id, std::span<const Charge> differences,
                             std::string_view key);
  Result<LimitReport> settle(std::string_view lease_id, std::initializer_list<Charge> actual) {
    return settle(lease_id, std::span(actual.begin(), actual.size()));
  }
  Result<LimitReport> settle(std::string_view lease_id, std::span<const Charge> actual);
  Result<LimitReport> rollback(std::string_view lease_id);

  /// Limits at one level. Setting replaces all of them; a change reaches existing buckets without giving
  /// anything away: refill is claimed at the old rate up to the change, and what exceeds a lower burst is
  /// cut.
  Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                  const SetLimitsOptions& options = {});
  Result<StoredLimits> set_limits(const Level& level, const std::vector<LimitText>& limits,
                                  const SetLimitsOptions& options = {});
  Result<StoredLimits> limits(const Level& level);
  Result<void> delete_limits(const Level& level);
  Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource);
  Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter = {}, const Paging& paging = {});

  /// Entities. Putting one replaces everything that was stored about it, except when it was created. Parent
  /// and cascade can be changed only while the entity has no bucket. A parent need not be stored itself; one
  /// without limits is not charged.
  Result<Entity> put_entity(const Entity& entity);
  Result<Entity> entity(std::string_view id);
  /// Takes the entity's limits and buckets along. Refused while it has children.
  Result<void> delete_entity(std::string_view id);
  Result<Page<std::string>> children(std::string_view id, const Paging& paging = {});
  /// Every entity that is stored, by id.
  Result<Page<Entity>> entities(const Paging& paging = {});
  /// The buckets of an entity, by resource, whether it is stored itself or not.
  Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging = {});

  /// Makes all changes, or none of them. An error names the change that failed, counted from 1.
  Result<void> change(std::initializer_list<CatalogChange> changes, const ChangeOptions& options = {}) {
    return change(std::span(changes.begin(), changes.size()), options);
  }
  Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options = {});

  /// The record of changes, newest first. `subject`: an entity, "$RESOURCE:{resource}" or "$SYSTEM"; empty:
  /// all.
  Result<Page<AuditEvent>> audit(std::string_view subject = {}, const Paging& paging = {});

  /// Warnings about the store for the operator, such as a file that was written while the clock was ahead.
  /// Complete sentences for the log; new ones are appended.
  std::vector<std::string> warnings() const;

 private:
  explicit Limiter(std::unique_ptr<limiter::Core> core);
  std::unique_ptr<limiter::Core> core_;
};

}  // namespace weir

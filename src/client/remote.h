// A running service, by its HTTP API.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/entropy.h"
#include "client/server_url.h"
#include "client/target.h"
#include "net/http_client.h"

namespace weir::client {

struct Asked;

struct RemoteOptions {
  ServerUrl url;
  std::string token = {};                      ///< empty: none is sent
  std::string token_source = {};               ///< where it came from, for messages: "WEIR_TOKEN"
  std::optional<std::string> name_space = {};  ///< nothing: the token's, or else the default
  std::string ca_file = {};
  std::chrono::milliseconds timeout{30'000};
};

/// Each verb is one request on a keep-alive connection. Requests that change something are retried only if
/// they were not sent or are idempotent.
class Remote final : public Target {
 public:
  Remote(RemoteOptions options, std::shared_ptr<base::Entropy> entropy);
  ~Remote() override;

  Result<Acquired> acquire(const Request& request, bool with_lease) override;
  Result<Decision> available(const Request& request) override;
  Result<LimitReport> adjust(std::string_view lease, std::span<const Charge> differences,
                             std::string_view key, Debt debt) override;
  Result<LimitReport> settle(std::string_view lease, std::span<const Charge> actual) override;
  Result<LimitReport> rollback(std::string_view lease) override;
  Result<Time> extend(std::string_view lease, std::chrono::milliseconds lease_for) override;

  Result<StoredLimits> set_limits(const Level& level, std::span<const NamedLimit> limits,
                                  const SetLimitsOptions& options) override;
  Result<StoredLimits> limits(const Level& level) override;
  Result<void> delete_limits(const Level& level) override;
  Result<EffectiveLimits> effective_limits(std::string_view entity, std::string_view resource) override;
  Result<Page<StoredLimits>> list_limits(const LimitsFilter& filter, const Paging& paging) override;

  Result<Entity> put_entity(const Entity& entity) override;
  Result<Entity> entity(std::string_view id) override;
  Result<void> delete_entity(std::string_view id) override;
  Result<Entity> set_access(std::string_view entity, const AccessRule& rule) override;
  Result<void> remove_access(std::string_view entity, Access access, std::string_view resource) override;
  Result<Page<std::string>> children(std::string_view id, const Paging& paging) override;
  Result<Page<Entity>> entities(const Paging& paging) override;
  Result<LimitsPlan> put_plan(const LimitsPlan& plan) override;
  Result<LimitsPlan> plan(std::string_view name) override;
  Result<void> delete_plan(std::string_view name) override;
  Result<Page<LimitsPlan>> plans(const Paging& paging) override;
  Result<Page<std::string>> members(std::string_view plan, const Paging& paging) override;
  Result<Page<Bucket>> buckets(std::string_view entity, const Paging& paging) override;
  Result<std::vector<Bucket>> reset(std::string_view entity, std::string_view resource) override;
  Result<Bucket> grant(std::string_view entity, std::string_view resource, std::span<const Charge> amounts,
                       const GrantOptions& options) override;
  Result<Page<Bucket>> buckets_on(std::string_view resource, const BucketsFilter& filter,
                                  const Paging& paging) override;

  Result<void> change(std::span<const CatalogChange> changes, const ChangeOptions& options) override;
  Result<Page<AuditEvent>> audit(const AuditFilter& filter, const Paging& paging) override;
  Result<Page<Usage>> usage(const UsageFilter& filter, const Paging& paging) override;
  Result<std::vector<UsageTotal>> top_usage(const UsageFilter& filter, std::string_view limit,
                                            std::size_t count) override;
  Result<decision_log::Entry> decision(std::string_view id) override;
  Result<Page<decision_log::Entry>> decisions(const decision_log::Filter& filter,
                                              const Paging& paging) override;
  Result<std::vector<Namespace>> namespaces() override;
  Result<Namespace> create_namespace(std::string_view name) override;
  Result<Namespace> purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) override;
  Result<Namespace> restore_namespace(std::string_view name) override;
  Result<std::vector<store::Finding>> check() override;

 private:
  struct Call;
  /// The body of an answer that succeeded: 2xx, or 429 to an acquire.
  Result<std::string> ask(Call call);
  Result<std::string> get(std::string target);
  Result<Namespace> change_namespace(wire::http::Method method, std::string_view name, std::string_view rest);
  /// A new idempotency key.
  std::string new_key();
  Result<LimitReport> change_lease(std::string_view lease, const char* verb, std::string body,
                                   std::string fields);
  Asked asked_by(const Call& call) const;

  const RemoteOptions options_;
  std::shared_ptr<base::Entropy> entropy_;
  net::HttpClient http_;
};

}  // namespace weir::client

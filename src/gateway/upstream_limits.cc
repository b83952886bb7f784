#include "gateway/upstream_limits.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gateway/gateway.h"
#include "server/vendor_limits.h"
#include "store/executor.h"

namespace weir::gateway {
namespace {

std::optional<std::int64_t> left_of(std::string_view limit, const llm::VendorLeft& left) {
  const auto meaning = server::vendor_limit_of(limit);
  if (!meaning) return std::nullopt;
  switch (*meaning) {
    case server::VendorLimit::requests:
      return left.requests;
    case server::VendorLimit::tokens:
      return left.tokens;
    case server::VendorLimit::input_tokens:
      return left.input_tokens;
    case server::VendorLimit::output_tokens:
      return left.output_tokens;
  }
  return std::nullopt;
}

/// Destroys itself with its completion. Counts as an open lease, so that a gateway that stops waits for it.
class LowerOperation {
 public:
  LowerOperation(Gateway& gateway, limiter::Core& core, std::string_view entity, std::string_view resource,
                 std::span<const Charge> at_most)
      : gateway_(gateway), pending_(core), entity_(entity), resource_(resource) {
    gateway_.call_leases().add();
    names_.reserve(at_most.size());
    for (const Charge& one : at_most) at_most_.push_back({names_.emplace_back(one.limit), one.amount});
  }
  ~LowerOperation() { gateway_.call_leases().remove(); }
  LowerOperation(const LowerOperation&) = delete;
  LowerOperation& operator=(const LowerOperation&) = delete;

  void start() {
    store::Executor* const executor = std::exchange(store::Executor::here(), nullptr);
    pending_.lower(entity_, resource_, at_most_,
                   {[](void* self, Result<void>&&) { delete static_cast<LowerOperation*>(self); }, this});
    store::Executor::here() = executor;
  }

 private:
  Gateway& gateway_;
  limiter::PendingCorrection pending_;
  const std::string entity_;
  const std::string resource_;
  std::vector<std::string> names_;
  std::vector<Charge> at_most_;
};

}  // namespace

std::vector<UpstreamLimit> upstream_limits(const LimitReport& report, std::string_view entity) {
  std::vector<UpstreamLimit> limits;
  for (const LimitStatus status : report) {
    const bool speaks = status.kind == Kind::rate && status.mode != Mode::off;
    const auto meaning = server::vendor_limit_of(status.name);
    if (!speaks || status.entity != entity || !meaning) continue;
    const UpstreamLimit one{std::string(status.name), status.remaining, status.window};
    const auto same = std::find_if(limits.begin(), limits.end(), [&](const UpstreamLimit& known) {
      return server::vendor_limit_of(known.name) == meaning;
    });
    if (same == limits.end()) {
      limits.push_back(one);
    } else if (one.window < same->window) {
      *same = one;
    }
  }
  return limits;
}

std::vector<Charge> lower_ones(const std::vector<UpstreamLimit>& limits, const llm::VendorLeft& left) {
  std::vector<Charge> lower;
  for (const UpstreamLimit& limit : limits) {
    const auto most = left_of(limit.name, left);
    if (most && Amount(*most) < limit.remaining) lower.push_back({limit.name, Amount(*most)});
  }
  return lower;
}

std::function<void()> make_lowering(Gateway& gateway, limiter::Core& core, std::string_view entity,
                                    std::string_view resource, std::span<const Charge> at_most) {
  auto lowering = std::make_shared<std::unique_ptr<LowerOperation>>(
      std::make_unique<LowerOperation>(gateway, core, entity, resource, at_most));
  return [lowering] { lowering->release()->start(); };
}

}  // namespace weir::gateway

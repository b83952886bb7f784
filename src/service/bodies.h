// The JSON that callers send, checked and converted to the types of the limiter.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/parsed.h"
#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/entity.h"
#include "weir/lease.h"
#include "weir/limit.h"

namespace weir::service {

using json::Parsed;

/// Amounts by the names of limits; owns the names.
struct Amounts {
  std::vector<std::pair<std::string, Amount>> by_limit;
  std::vector<Charge> charges() const {
    std::vector<Charge> charges;
    charges.reserve(by_limit.size());
    for (const auto& [limit, amount] : by_limit) charges.push_back({limit, amount});
    return charges;
  }
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

struct AcquireBody {
  std::string entity;
  std::string resource;
  Amounts consume;
  std::vector<NamedLimit> limits;          ///< sent with the request; may be empty
  std::chrono::milliseconds lease_for{0};  ///< 0: as long as the service says
  std::chrono::milliseconds max_wait{0};   ///< 0: refused at once
  friend bool operator==(const AcquireBody&, const AcquireBody&) = default;
};

struct LimitsBody {
  std::vector<NamedLimit> limits;
  SetLimitsOptions options;
};

/// `{"entity","resource","consume":{...},"limits"?:{...},"lease_ms"?,"max_wait_ms"?}`.
Parsed<AcquireBody> parse_acquire(std::string_view json);
/// The same without the shortcut of plain_acquire.h; for tests of it.
Parsed<AcquireBody> parse_any_acquire(std::string_view json);
/// `{"lease_ms":N}` of an extend.
Parsed<std::chrono::milliseconds> parse_extend(std::string_view json);
struct AdjustBody {
  Amounts consume;
  Debt debt = Debt::allowed;
};
/// `{"consume":{...},"enforce":true}` of an adjust.
Parsed<AdjustBody> parse_adjust(std::string_view json);
struct GrantBody {
  std::string resource;
  Amounts amounts;
  std::optional<std::chrono::milliseconds> expires_in;
};
/// `{"resource","amounts":{...},"expires_in_ms"?}`.
Parsed<GrantBody> parse_grant(std::string_view json);
/// `{"actual":{...}}`, `{}` or nothing.
Parsed<Amounts> parse_settle(std::string_view json);
/// `{"limits":{...},"on_unavailable"?,"bucket_ttl_refill_multiplier"?,"usage"?,"owner"?,"ttl_ms"?}`.
Parsed<LimitsBody> parse_limits_body(std::string_view json);
/// `{"parent"?,"cascade"?,"plan"?,"name"?,"metadata"?}`.
Parsed<Entity> parse_entity(std::string_view json, std::string_view id);
/// `{"rpm":"100/min"}`, as in a query.
Parsed<std::vector<NamedLimit>> parse_request_limits(std::string_view json);
/// `rpm:1,tpm:500`, as in a query.
Parsed<Amounts> parse_consume_list(std::string_view text);

}  // namespace weir::service

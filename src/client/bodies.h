// The requests of a client: bodies of the HTTP API, and parts of its paths. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "client/target.h"

namespace weir::client {

/// One segment of a path, or a value in a query, with all special characters escaped.
std::string escaped(std::string_view text);

std::string acquire_body(const Request& request);
/// `{"FIELD":{"rpm":1}}`; `{}` for no charges.
std::string charges_body(std::string_view field, std::span<const Charge> charges);
std::string adjust_body(std::span<const Charge> differences, Debt debt);
std::string limits_body(std::span<const NamedLimit> limits, const SetLimitsOptions& options);
std::string entity_body(const Entity& entity);
std::string access_body(const AccessRule& rule);
/// "/v1/entities/key-9/block".
std::string path_of_access(std::string_view entity, Access access);
std::string plan_body(const LimitsPlan& plan);
/// `{"changes":[...]}`.
std::string changes_body(std::span<const CatalogChange> changes);

/// The path of a level's limits, without the prefix: "/v1/limits/entity/key-1/_default_".
std::string path_of(const Level& level);
/// "/v1/plans/pro".
std::string path_of_plan(std::string_view name);
/// "/v1/usage?window=hour&entity=key-1".
std::string usage_target(const UsageFilter& filter);
/// Appends to a target with parameters: "...&resource=gpt-4&sort=remaining".
std::string buckets_target(std::string_view resource, const BucketsFilter& filter, std::string target);
/// The same: "...&entity=key-1&kind=limits".
std::string audit_target(const AuditFilter& filter, std::string target);
/// `rpm:1,tpm:500`, as in a query.
std::string consume_list(std::span<const Charge> charges);
/// `{"rpm":"100/min"}`.
std::string limits_json(std::span<const NamedLimit> limits);

}  // namespace weir::client

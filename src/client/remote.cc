#include "client/remote.h"

#include "base/json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "client/answers.h"
#include "client/bodies.h"
#include "client/failures.h"
#include "decision_log/reader.h"
#include "limits/access.h"
#include "limits/limit_set.h"
#include "limits/names.h"
#include "limits/plan.h"
#include "wire/buffer.h"
#include "wire/http_write.h"

namespace weir::client {
namespace {

using base::join;
using wire::http::Method;

net::HttpClientOptions http_options(const RemoteOptions& options) {
  return {.host = options.url.host,
          .port = options.url.port,
          .tls = options.url.tls,
          .ca_file = options.ca_file,
          .timeout = options.timeout};
}

std::string field(std::string_view name, std::string_view value) {
  wire::Buffer line;
  wire::http::write_field(line, name, value);
  return std::string(line.view());
}

/// Appends "cursor=..&limit=.." to the query.
std::string paged(std::string target, const Paging& paging) {
  target += join(target.find('?') == std::string::npos ? "?" : "&", "limit=", std::to_string(paging.limit));
  if (!paging.cursor.empty()) target += join("&cursor=", escaped(paging.cursor));
  return target;
}

std::string words_of(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? join(std::to_string(time.count() / 1000), " s")
                                  : join(std::to_string(time.count()), " ms");
}

/// The parsed answer, if there is one.
template <class T, class Read>
Result<T> read(const Result<std::string>& body, Read&& reader) {
  if (!body) return body.error();
  return reader(*body);
}

/// Charges are sent as members of an object, so no name may occur twice.
Result<void> check_charges(std::span<const Charge> charges) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (charges[i].limit == charges[j].limit)
        return base::invalid("limit ", base::quoted(charges[i].limit), " is named twice; name it once");
    }
  }
  return {};
}

Result<void> check_names(std::string_view entity, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked;
  return limits::check_resource(resource);
}

}  // namespace

struct Remote::Call {
  Method method = Method::get;
  std::string target;  ///< without the prefix
  std::string body = {};
  std::string fields = {};
  bool repeatable = false;      ///< idempotent, although it changes something
  bool may_be_refused = false;  ///< by a 429, which is an answer
  std::chrono::milliseconds extra_patience{0};
  std::function<void(std::size_t)> progress = {};

  bool changes_things() const { return method != Method::get; }
};

Remote::Remote(RemoteOptions options, std::shared_ptr<base::Entropy> entropy)
    : options_(std::move(options)), entropy_(std::move(entropy)), http_(http_options(options_)) {}
Remote::~Remote() = default;

Asked Remote::asked_by(const Call& call) const {
  return {.server = options_.url.text,
          .path = call.target.substr(0, call.target.find('?')),
          .token_source = options_.token_source,
          .timeout = words_of(options_.timeout),
          .changes_things = call.changes_things(),
          .has_ca_file = !options_.ca_file.empty()};
}

Result<std::string> Remote::ask(Call call) {
  net::HttpRequest request{.method = call.method,
                           .target = options_.url.prefix + call.target,
                           .fields = join(field("Accept", "application/json, application/problem+json"),
                                          field("User-Agent", "weir"), call.fields),
                           .body = call.body,
                           .repeatable = call.repeatable || !call.changes_things(),
                           .extra_patience = call.extra_patience,
                           .progress = std::move(call.progress)};
  if (!call.body.empty()) request.fields += field("Content-Type", "application/json");
  if (!options_.token.empty()) request.fields += field("Authorization", join("Bearer ", options_.token));
  if (options_.name_space) request.fields += field("Weir-Namespace", *options_.name_space);
  auto answered = http_.ask(request);
  if (const auto* const failure = std::get_if<net::HttpFailure>(&answered))
    return error_of(*failure, asked_by(call));
  auto& answer = std::get<net::HttpAnswer>(answered);
  if (answer.status == 204) return std::string();
  const bool refused = call.may_be_refused && answer.status == 429;
  const char* const expected = refused ? "application/problem+json" : "application/json";
  if (!refused && (answer.status < 200 || answer.status > 299)) return error_of(answer, asked_by(call));
  if (answer.content_type != expected) return not_weir(answer, asked_by(call));
  return std::move(answer.body);
}

Result<std::string> Remote::get(std::string target) { return ask({.target = std::move(target)}); }

std::string Remote::new_key() {
  return join("weir-", std::to_string(entropy_->next()), "-", std::to_string(entropy_->next()));
}

Result<Acquired> Remote::acquire(const Request& request, bool /*with_lease*/) {
  if (auto checked = check_names(request.entity, request.resource); !checked) return checked.error();
  if (auto checked = check_charges(request.consume); !checked) return checked.error();
  // The idempotency key makes an acquire safe to retry.
  std::string key;
  if (request.keyed) key = field("Idempotency-Key", new_key());
  return read<Acquired>(ask({.method = Method::post,
                             .target = "/v1/acquire",
                             .body = acquire_body(request),
                             .fields = std::move(key),
                             .repeatable = request.keyed,
                             .may_be_refused = true,
                             .extra_patience = request.max_wait}),
                        read_acquired);
}

Result<Decision> Remote::available(const Request& request) {
  if (auto checked = check_names(request.entity, request.resource); !checked) return checked.error();
  if (auto checked = check_charges(request.consume); !checked) return checked.error();
  std::string target =
      join("/v1/available?entity=", escaped(request.entity), "&resource=", escaped(request.resource));
  if (!request.consume.empty()) target += join("&consume=", escaped(consume_list(request.consume)));
  if (!request.limits.empty()) target += join("&limits=", escaped(limits_json(request.limits)));
  return read<Decision>(get(std::move(target)), read_available);
}

Result<LimitReport> Remote::change_lease(std::string_view lease, const char* verb, std::string body,
                                         std::string fields) {
  // The service applies each change to a lease once, so it is safe to retry.
  return read<LimitReport>(ask({.method = Method::post,
                                .target = join("/v1/leases/", escaped(lease), "/", verb),
                                .body = std::move(body),
                                .fields = std::move(fields),
                                .repeatable = true}),
                           read_report);
}

Result<LimitReport> Remote::adjust(std::string_view lease, std::span<const Charge> differences,
                                   std::string_view key, Debt debt) {
  if (auto checked = check_charges(differences); !checked) return checked.error();
  if (auto checked = limits::check_adjust_key(key); !checked) return checked.error();
  const std::string line = field("Idempotency-Key", key);
  const bool trimmed = (key.front() <= ' ' || key.back() <= ' ');
  if (line.empty() || trimmed) {
    return base::invalid("key ", base::quoted(key),
                         " cannot be sent to a service; use letters, digits and punctuation");
  }
  return change_lease(lease, "adjust", adjust_body(differences, debt), line);
}

Result<LimitReport> Remote::settle(std::string_view lease, std::span<const Charge> actual) {
  if (auto checked = check_charges(actual); !checked) return checked.error();
  return change_lease(lease, "settle", charges_body("actual", actual), {});
}

Result<LimitReport> Remote::rollback(std::string_view lease) {
  return change_lease(lease, "rollback", {}, {});
}

Result<Time> Remote::extend(std::string_view lease, std::chrono::milliseconds lease_for) {
  return read<Time>(ask({.method = Method::post,
                         .target = join("/v1/leases/", escaped(lease), "/extend"),
                         .body = join("{\"lease_ms\":", std::to_string(lease_for.count()), "}"),
                         .repeatable = true}),
                    read_extended);
}

Result<StoredLimits> Remote::set_limits(const Level& level, std::span<const NamedLimit> limits,
                                        const SetLimitsOptions& options) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  // Checked here: duplicate names would make a malformed JSON object.
  if (auto set = limits::make_limit_set(limits); !set) return set.error();
  return read<StoredLimits>(
      ask({.method = Method::put, .target = path_of(level), .body = limits_body(limits, options)}),
      [&](std::string_view json) { return read_stored(json, level); });
}

Result<StoredLimits> Remote::limits(const Level& level) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  return read<StoredLimits>(get(path_of(level)),
                            [&](std::string_view json) { return read_stored(json, level); });
}

Result<void> Remote::delete_limits(const Level& level) {
  if (auto checked = limits::check_level(level); !checked) return checked.error();
  auto deleted = ask({.method = Method::delete_, .target = path_of(level)});
  return deleted ? Result<void>() : deleted.error();
}

Result<EffectiveLimits> Remote::effective_limits(std::string_view entity, std::string_view resource) {
  if (auto checked = check_names(entity, resource); !checked) return checked.error();
  return read<EffectiveLimits>(
      get(join("/v1/limits/effective?entity=", escaped(entity), "&resource=", escaped(resource))),
      read_effective);
}

Result<Page<StoredLimits>> Remote::list_limits(const LimitsFilter& filter, const Paging& paging) {
  std::string target = paged("/v1/limits", paging);
  if (filter.level) target += join("&level=", name_of(*filter.level));
  if (filter.owner) target += join("&owner=", name_of(*filter.owner));
  return read<Page<StoredLimits>>(get(std::move(target)), read_limits_page);
}

Result<Entity> Remote::put_entity(const Entity& entity) {
  if (auto checked = limits::check_entity_record(entity); !checked) return checked.error();
  return read<Entity>(ask({.method = Method::put,
                           .target = join("/v1/entities/", escaped(entity.id)),
                           .body = entity_body(entity)}),
                      read_entity);
}

Result<Entity> Remote::entity(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  return read<Entity>(get(join("/v1/entities/", escaped(id))), read_entity);
}

Result<void> Remote::delete_entity(std::string_view id) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  auto deleted = ask({.method = Method::delete_, .target = join("/v1/entities/", escaped(id))});
  return deleted ? Result<void>() : deleted.error();
}

Result<Entity> Remote::set_access(std::string_view entity, const AccessRule& rule) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  if (auto checked = limits::check_access(rule); !checked) return checked.error();
  return read<Entity>(
      ask({.method = Method::put, .target = path_of_access(entity, rule.access), .body = access_body(rule)}),
      read_access);
}

Result<void> Remote::remove_access(std::string_view entity, Access access, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  std::string target = path_of_access(entity, access);
  if (!resource.empty()) target += join("?resource=", escaped(resource));
  auto deleted = ask({.method = Method::delete_, .target = std::move(target)});
  return deleted ? Result<void>() : deleted.error();
}

Result<Page<std::string>> Remote::children(std::string_view id, const Paging& paging) {
  if (auto checked = limits::check_entity(id); !checked) return checked.error();
  return read<Page<std::string>>(get(paged(join("/v1/entities/", escaped(id), "/children"), paging)),
                                 [](std::string_view json) { return read_ids_page(json, "children"); });
}

Result<LimitsPlan> Remote::put_plan(const LimitsPlan& plan) {
  if (auto checked = limits::check_plan_record(plan); !checked) return checked.error();
  return read<LimitsPlan>(
      ask({.method = Method::put, .target = path_of_plan(plan.name), .body = plan_body(plan)}), read_plan);
}

Result<LimitsPlan> Remote::plan(std::string_view name) {
  if (auto checked = limits::check_plan(name); !checked) return checked.error();
  return read<LimitsPlan>(get(path_of_plan(name)), read_plan);
}

Result<void> Remote::delete_plan(std::string_view name) {
  if (auto checked = limits::check_plan(name); !checked) return checked.error();
  auto deleted = ask({.method = Method::delete_, .target = path_of_plan(name)});
  return deleted ? Result<void>() : deleted.error();
}

Result<Page<LimitsPlan>> Remote::plans(const Paging& paging) {
  return read<Page<LimitsPlan>>(get(paged("/v1/plans", paging)), read_plans_page);
}

Result<Page<std::string>> Remote::members(std::string_view plan, const Paging& paging) {
  if (auto checked = limits::check_plan(plan); !checked) return checked.error();
  return read<Page<std::string>>(get(paged(path_of_plan(plan) + "/members", paging)),
                                 [](std::string_view json) { return read_ids_page(json, "members"); });
}

Result<Page<Entity>> Remote::entities(const Paging& paging) {
  return read<Page<Entity>>(get(paged("/v1/entities", paging)), read_entities_page);
}

Result<std::vector<Bucket>> Remote::reset(std::string_view entity, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  std::string body = "{}";
  if (!resource.empty()) body = base::JsonWriter::object().text("resource", resource).str();
  auto page = read<Page<Bucket>>(ask({.method = Method::post,
                                      .target = join("/v1/entities/", escaped(entity), "/reset"),
                                      .body = std::move(body)}),
                                 read_buckets_page);
  if (!page) return page.error();
  return std::move(page->items);
}

Result<Bucket> Remote::grant(std::string_view entity, std::string_view resource,
                             std::span<const Charge> amounts, const GrantOptions& options) {
  if (auto checked = check_names(entity, resource); !checked) return checked.error();
  if (auto checked = check_charges(amounts); !checked) return checked.error();
  // The service takes no grant without a key, so that its answer can get lost.
  const std::string key = options.key.empty() ? new_key() : options.key;
  const std::string line = field("Idempotency-Key", key);
  if (line.empty()) {
    return base::invalid("key ", base::quoted(key),
                         " cannot be sent to a service; use letters, digits and punctuation");
  }
  auto body = base::JsonWriter::object();
  auto granted = base::JsonWriter::object();
  for (const Charge& charge : amounts) granted.raw(charge.limit, charge.amount.to_string());
  body.text("resource", resource).raw("amounts", granted.str());
  if (options.expires_in) body.number("expires_in_ms", options.expires_in->count());
  return read<Bucket>(ask({.method = Method::post,
                           .target = join("/v1/entities/", escaped(entity), "/grants"),
                           .body = body.str(),
                           .fields = line,
                           .repeatable = true}),
                      read_one_bucket);
}

Result<Page<Bucket>> Remote::buckets(std::string_view entity, const Paging& paging) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  return read<Page<Bucket>>(get(paged(join("/v1/entities/", escaped(entity), "/buckets"), paging)),
                            read_buckets_page);
}

Result<void> Remote::change(std::span<const CatalogChange> changes, const ChangeOptions& options) {
  Call call{.method = Method::post, .target = "/v1/changes", .body = changes_body(changes)};
  // One millisecond for each change, for slow disks.
  call.extra_patience = std::chrono::milliseconds(changes.size());
  // Sending counts as half of the work; the other half is not reported.
  if (options.progress) {
    call.progress = [&options, of = 2 * call.body.size()](std::size_t sent) { options.progress(sent, of); };
  }
  auto changed = ask(std::move(call));
  return changed ? Result<void>() : changed.error();
}

Result<Page<Bucket>> Remote::buckets_on(std::string_view resource, const BucketsFilter& filter,
                                        const Paging& paging) {
  if (!resource.empty()) {
    if (auto checked = limits::check_resource(resource); !checked) return checked.error();
  }
  return read<Page<Bucket>>(get(buckets_target(resource, filter, paged("/v1/buckets", paging))),
                            read_buckets_page);
}

Result<Page<AuditEvent>> Remote::audit(const AuditFilter& filter, const Paging& paging) {
  return read<Page<AuditEvent>>(get(audit_target(filter, paged("/v1/audit", paging))), read_audit_page);
}

Result<Page<Usage>> Remote::usage(const UsageFilter& filter, const Paging& paging) {
  return read<Page<Usage>>(get(paged(usage_target(filter), paging)), read_usage_page);
}

Result<std::vector<UsageTotal>> Remote::top_usage(const UsageFilter& filter, std::string_view limit,
                                                  std::size_t count) {
  std::string target = join(usage_target(filter), "&top=", std::to_string(count));
  if (!limit.empty()) target += join("&by=", escaped(limit));
  return read<std::vector<UsageTotal>>(get(std::move(target)), read_top_usage);
}

Result<decision_log::Entry> Remote::decision(std::string_view id) {
  if (auto parsed = decision_log::parse_id(id); !parsed) return parsed.error();
  return read<decision_log::Entry>(get(join("/v1/decisions/", escaped(id))), read_entry);
}

Result<Page<decision_log::Entry>> Remote::decisions(const decision_log::Filter& filter,
                                                    const Paging& paging) {
  std::string target = paged("/v1/decisions", paging);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) target += join("&", name, "=", escaped(value));
  };
  add("entity", filter.entity);
  add("chain", filter.chain);
  add("resource", filter.resource);
  if (filter.outcome) add("outcome", decision_log::outcome_names[static_cast<std::size_t>(*filter.outcome)]);
  if (filter.from != 0) add("from", base::rfc3339_text(filter.from));
  if (filter.to != decision_log::Filter().to) add("to", base::rfc3339_text(filter.to));
  return read<Page<decision_log::Entry>>(get(std::move(target)), read_entries_page);
}

Result<std::vector<Namespace>> Remote::namespaces() {
  return read<std::vector<Namespace>>(get("/v1/namespaces"), read_namespaces);
}

Result<Namespace> Remote::change_namespace(Method method, std::string_view name, std::string_view rest) {
  if (auto checked = limits::check_namespace(name); !checked) return checked.error();
  return read<Namespace>(ask({.method = method, .target = join("/v1/namespaces/", escaped(name), rest)}),
                         read_namespace);
}

Result<Namespace> Remote::create_namespace(std::string_view name) {
  return change_namespace(Method::put, name, {});
}

Result<Namespace> Remote::purge_namespace(std::string_view name, std::chrono::milliseconds keep_for) {
  return change_namespace(Method::delete_, name, join("?keep_ms=", std::to_string(keep_for.count())));
}

Result<Namespace> Remote::restore_namespace(std::string_view name) {
  return change_namespace(Method::post, name, "/restore");
}

Result<std::vector<store::Finding>> Remote::check() {
  return read<std::vector<store::Finding>>(get("/v1/store/check"), read_findings);
}

}  // namespace weir::client

// The limiter's side of corrections: filling the buckets of an entity, and lowering one.
#include <algorithm>

#include "base/json.h"
#include "base/maxima.h"
#include "base/text.h"
#include "limiter/core.h"
#include "limiter/correction_operation.h"
#include "limits/names.h"

namespace weir::limiter {
namespace {

using base::invalid;
using base::quoted;

}  // namespace

Result<store::CorrectionOutcome> Core::correct(std::string_view entity, std::string_view resource,
                                               const decision::Correction& correction, const Nonce* once) {
  CorrectionOperation operation(buckets_, store_.catalog(), shared_);
  auto done = store::wait_for<void>([&](store::Completion<void> completion) {
    operation.start({name_space_, entity, resource, correction, {}, once}, completion);
  });
  if (!done) return done.error();
  // Those that wait may have waited for this bucket, or for it as that of an ancestor.
  if (correction.verb != decision::Correction::Verb::lower) waiting().nudge(name_space_, resource);
  return operation.outcome();
}

Result<std::vector<Bucket>> Core::buckets_to_reset(std::string_view entity, std::string_view resource) {
  std::vector<Bucket> found;
  Paging paging;
  do {
    auto page = buckets(entity, paging);
    if (!page) return page.error();
    for (Bucket& bucket : page->items) {
      if (resource.empty() || bucket.resource == resource) found.push_back(std::move(bucket));
    }
    paging.cursor = std::move(page->next);
  } while (!paging.cursor.empty());
  return found;
}

Result<std::vector<Bucket>> Core::reset(std::string_view entity, std::string_view resource) {
  if (auto checked = limits::check_entity(entity); !checked) return checked.error();
  if (!resource.empty()) {
    if (auto checked = limits::check_resource(resource); !checked) return checked.error();
  }
  auto found = buckets_to_reset(entity, resource);
  if (!found) return found.error();
  std::vector<store::Change> notes;
  for (const Bucket& bucket : *found) {
    auto filled = correct(entity, bucket.resource, {.verb = decision::Correction::Verb::fill});
    if (!filled && filled.error().code == ErrorCode::no_limits && found->size() > 1) continue;
    if (!filled && filled.error().code == ErrorCode::no_limits) {
      return base::error(ErrorCode::no_limits, "no level has limits for entity ", quoted(entity),
                         " on resource ", quoted(bucket.resource),
                         ": they come with its requests, so that the bucket cannot be filled here");
    }
    if (!filled) return filled.error();
    notes.emplace_back(store::AuditNote{std::string(entity), "entity.reset", bucket.resource, "{}"});
  }
  if (!notes.empty()) {
    if (auto noted = write(notes); !noted) {
      return base::error(noted.error().code,
                         "the buckets were filled, but the audit does not have it: ", noted.error().message);
    }
  }
  return buckets_to_reset(entity, resource);
}

Result<LimitReport> Core::lower(std::string_view entity, std::string_view resource,
                                std::span<const Charge> at_most) {
  if (at_most.empty()) return invalid("the request names no limit to lower");
  if (auto checked =
          check({.name_space = name_space_, .entity = entity, .resource = resource, .consume = at_most},
                Mode::peek);
      !checked)
    return checked.error();
  auto lowered = correct(entity, resource, {.verb = decision::Correction::Verb::lower, .amounts = at_most});
  if (!lowered) return lowered.error();
  return std::move(lowered->report);
}

namespace {

Result<void> check_grant(std::span<const Charge> amounts, const GrantOptions& options) {
  if (amounts.empty()) return invalid("the grant names no limit; say how much of which, such as tpm=10000");
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const auto& [limit, amount] = amounts[i];
    if (amount <= Amount()) return invalid("a grant of ", quoted(limit), " must be more than 0");
    const auto earlier = amounts.first(i);
    if (std::any_of(earlier.begin(), earlier.end(), [&](const Charge& one) { return one.limit == limit; }))
      return invalid("limit ", quoted(limit), " is named twice; name it once");
  }
  constexpr std::chrono::milliseconds longest = std::chrono::hours(24) * 3653;
  if (options.expires_in && (options.expires_in->count() < 1 || *options.expires_in > longest))
    return invalid("a grant ends between 1 ms and ten years from now; leave the end out for none");
  return {};
}

/// The amounts, the duration and the key, as the audit has them.
std::string granted_json(std::span<const Charge> amounts, const GrantOptions& options) {
  auto granted = base::JsonWriter::object();
  for (const Charge& charge : amounts) granted.raw(charge.limit, charge.amount.to_string());
  auto json = base::JsonWriter::object();
  json.raw("granted", granted.str());
  if (options.expires_in) json.number("expires_in_ms", options.expires_in->count());
  if (!options.key.empty()) json.text("key", options.key);
  return json.str();
}

}  // namespace

/// Whether the newest events of the entity have this grant. An audit that cannot be read says so.
bool Core::is_noted(std::string_view entity, std::string_view resource, std::string_view granted) {
  const auto events = audit(entity, {.cursor = {}, .limit = maxima::page});
  return !events || std::any_of(events->items.begin(), events->items.end(), [&](const AuditEvent& event) {
    return event.action == store::granted_action && event.resource == resource && event.after == granted;
  });
}

Result<Bucket> Core::grant(std::string_view entity, std::string_view resource,
                           std::span<const Charge> amounts, const GrantOptions& options) {
  const store::Request request{
      .name_space = name_space_, .entity = entity, .resource = resource, .consume = amounts};
  if (auto checked = check(request, Mode::peek); !checked) return checked.error();
  if (auto checked = check_grant(amounts, options); !checked) return checked.error();
  std::optional<Nonce> nonce;
  if (!options.key.empty()) {
    // Not the nonce of an acquire with the same key and amounts.
    auto made = nonce_of(request, options.key);
    if (!made) return made.error();
    nonce = *made;
    (*nonce)[1] ^= 0x6772616E74;
  }
  const decision::Correction correction{.verb = decision::Correction::Verb::grant,
                                        .amounts = amounts,
                                        .lasts = options.expires_in ? options.expires_in->count() : 0};
  auto granted = correct(entity, resource, correction, nonce ? &*nonce : nullptr);
  if (!granted) return granted.error();
  // The process that made the grant may have died before it was in the audit.
  const bool in_audit = granted->repeated && is_noted(entity, resource, granted_json(amounts, options));
  if (!in_audit) {
    const store::Change note = store::AuditNote{std::string(entity), std::string(store::granted_action),
                                                std::string(resource), granted_json(amounts, options)};
    if (auto noted = write({&note, 1}); !noted) {
      return base::error(noted.error().code,
                         "it was granted, but the audit does not have it: ", noted.error().message);
    }
  }
  auto found = buckets_to_reset(entity, resource);
  if (!found) return found.error();
  // A grant that was made before, and used or ended, does not keep its bucket.
  if (found->empty()) return Bucket{.entity = std::string(entity), .resource = std::string(resource)};
  return std::move(found->front());
}

}  // namespace weir::limiter

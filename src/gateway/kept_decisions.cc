// What the gateway adds to the decision log.
#include "api/decision_json.h"
#include "gateway/gateway.h"
#include "gateway/proxied_request.h"

namespace weir::gateway {

using decision_log::EntryOutcome;
using decision_log::Record;

/// The id from a proxy in front, or a new one.
const std::string& ProxiedRequest::request_id() {
  if (request_id_.empty())
    request_id_ = worker_.gateway().request_ids().id_for(request().fields().find("x-request-id"));
  return request_id_;
}

void ProxiedRequest::keep() {
  const GatewayOptions& options = worker_.gateway().options();
  Decision& decision = pending_->decision();
  if (decision.admitted() && !options.decisions->keeps_all()) return;
  const Time lease_for = worker_.gateway().decider()->core.lease_deadline();
  const auto wait = decision.retry_after();
  kept_as_ = options.decisions->next_number();
  if (decision.refused()) decision_id_ = options.decisions->id_of(kept_as_);
  const std::string more = api::more_json(decision, {.exempt = pending_->exempt()});
  options.decisions->add(kept_as_,
                         {.at = server::decided_at(decision, lease_for, false, asked_at_, *options.clock),
                          .outcome = decision.admitted() ? EntryOutcome::admitted : EntryOutcome::refused,
                          .name_space = options.name_space,
                          .entity = entity_,
                          .resource = resource_,
                          .request_id = request_id(),
                          .charges = costs_.named,
                          .every = costs_.amount,
                          .sent_limits = route_->settings.limits,
                          .report = &decision.limits(),
                          .wait = wait ? std::optional<Time>(wait->count()) : std::nullopt,
                          .never_fits = decision.never_fits(),
                          .from_memory = decision.from_memory(),
                          .shadow = route_->settings.mode == Mode::shadow,
                          .lease_for = lease_for,
                          .lease = decision.admitted() ? kept_as_ : 0,
                          .more = more});
}

/// The rows of a lease of the gateway have the number of its acquire.
void CallLease::keep() {
  const GatewayOptions& options = gateway_.options();
  if (!options.decisions->keeps_all()) return;
  Record record{.at = options.clock->now(),
                .kind = server::kind_of(verb_),
                .name_space = options.name_space,
                .charges = charges_,
                .lease_for = verb_ == detail::LeaseVerb::extend ? lease_for_.count() : 0,
                .lease = kept_as_};
  if (verb_ != detail::LeaseVerb::extend) record.report = &pending_.report();
  if (record.report != nullptr && !record.report->empty()) {
    const LimitStatus first = (*record.report)[0];
    record.entity = first.entity;
    record.resource = first.resource;
  }
  options.decisions->add(options.decisions->next_number(), record);
}

}  // namespace weir::gateway

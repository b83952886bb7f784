// What the service adds to the decision log.
#include "api/decision_json.h"
#include "base/hash.h"
#include "base/json.h"
#include "service/calls.h"

namespace weir::service {
namespace {

using decision_log::EntryOutcome;
using decision_log::Record;

/// The same number in every row of a lease. The id itself is the right to change it, and is not written. The
/// seed is fixed, since other processes may settle the lease.
std::uint64_t number_of(std::string_view lease) {
  constexpr base::HashSeed seed{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03};
  return lease.empty() ? 0 : base::hash(lease, seed) | 1U;
}

}  // namespace

Time Responder::asked_at() const {
  const server::DecisionLog* const log = service_->options_.decisions;
  return log != nullptr && log->keeps_all() ? service_->foundation_.clock->now() : 0;
}

std::string AcquireCall::keep(std::string_view lease) {
  server::DecisionLog* const log = service.options_.decisions;
  Decision& decision = this->decision();
  if (log == nullptr || (decision.admitted() && !log->keeps_all())) [[likely]]
    return {};
  const Time lease_for = body.lease_for.count() != 0 ? body.lease_for.count() : core->lease_deadline();
  const auto wait = decision.retry_after();
  // An acquire that waited is decided at the end of its wait.
  const Time decided_at = asked_at == 0 ? 0 : asked_at + decision.waited().count();
  const std::uint64_t number = log->next_number();
  const std::string more =
      waiting ? api::more_json(decision, {waiting->acquire.exempt(), waiting->acquire.gave_up()})
              : api::more_json(decision, {.exempt = pending.exempt()});
  log->add(number, {.at = server::decided_at(decision, lease_for, !key.empty(), decided_at,
                                             *service.foundation_.clock),
                    .outcome = decision.admitted() ? EntryOutcome::admitted : EntryOutcome::refused,
                    .name_space = core->name_space(),
                    .entity = body.entity,
                    .resource = body.resource,
                    .request_id = responder.request_id(),
                    .charges = charges,
                    .sent_limits = body.limits,
                    .report = &decision.limits(),
                    .wait = wait ? std::optional<Time>(wait->count()) : std::nullopt,
                    .never_fits = decision.never_fits(),
                    .from_memory = decision.from_memory(),
                    .keyed = !key.empty(),
                    .lease_for = lease_for,
                    .lease = number_of(lease),
                    .more = more});
  return decision.admitted() ? std::string() : log->id_of(number);
}

Record LeaseCall::record() const {
  return {.at = asked_at,
          .kind = server::kind_of(verb),
          .name_space = core->name_space(),
          .request_id = responder.request_id(),
          .charges = charges,
          .no_debt = debt == Debt::refused,
          .lease_for = lease_for.count(),
          .lease = number_of(id)};
}

/// The store does not report what the limits held; its error names the one that lacks something.
std::string LeaseCall::keep_refused(const Error& error) {
  Service& service = responder.service();
  server::DecisionLog* const log = service.options_.decisions;
  const detail::LeaseData& lease = pending.lease();
  if (log == nullptr || lease.buckets.empty()) return {};
  const std::string more = base::JsonWriter::object().text("detail", error.message).str();
  Record record = this->record();
  if (record.at == 0) record.at = service.foundation_.clock->now();
  record.outcome = EntryOutcome::refused;
  record.entity = lease.buckets.front().entity;
  record.resource = lease.resource;
  record.wait = std::nullopt;
  record.more = more;
  const std::uint64_t number = log->next_number();
  log->add(number, record);
  return log->id_of(number);
}

void LeaseCall::keep() {
  Service& service = responder.service();
  server::DecisionLog* const log = service.options_.decisions;
  if (log == nullptr || !log->keeps_all()) return;
  Record record = this->record();
  if (verb != detail::LeaseVerb::extend) record.report = &pending.report();
  if (record.report != nullptr && !record.report->empty()) {
    const LimitStatus first = (*record.report)[0];
    record.entity = first.entity;
    record.resource = first.resource;
  }
  log->add(log->next_number(), record);
}

}  // namespace weir::service

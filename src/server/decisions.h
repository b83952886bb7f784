// The decision log of a server: how it is opened, measured and read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "decision_log/decision_log.h"
#include "server/problem.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "weir/decision.h"

namespace weir::server {

using decision_log::DecisionLog;

/// Null if it keeps nothing. Without a path the log of a sqlite: store is beside its file, or in memory if
/// that is not possible, and that of any other store is in memory.
Result<std::unique_ptr<DecisionLog>> open_decision_log(decision_log::DecisionLogOptions options,
                                                       const std::string& store, const Clock& clock,
                                                       base::Entropy& entropy, telemetry::Log& log);
/// The metrics of the log, which must outlive them.
void add_metrics(telemetry::Metrics& metrics, const DecisionLog& log);

/// Warns once of each new reason that the log cannot be written; `warned`: the last one.
void warn_of_trouble(const DecisionLog& log, telemetry::Log& to, std::string& warned);

/// When the decision was made. By the store's clock if that is known: the deadline of the lease minus the
/// duration that the request asked for. That deadline is of no use if it was rounded, or if the request has a
/// key: it may be the deadline of an earlier request. Then, and after a refusal, `asked_at`, so that a replay
/// decides no later than the store did; if that is 0, now.
Time decided_at(Decision& decision, Time lease_for, bool keyed, Time asked_at, const Clock& clock);
/// The kind of entry that a change of a lease makes.
decision_log::EntryKind kind_of(detail::LeaseVerb verb);
/// The id of a refusal, as a header field; none if it is empty.
void append_decision(std::string& fields, std::string_view id);

/// GET /v1/decisions/{id}. `log` may be null.
Reply decision_reply(DecisionLog* log, std::string_view id, const std::string& name_space,
                     decision_log::Audience audience = decision_log::Audience::whole_log);
/// GET /v1/decisions.
Reply decisions_reply(DecisionLog* log, std::string_view query, const std::string& name_space);

}  // namespace weir::server

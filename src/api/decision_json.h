// Decisions and leases as the JSON of the HTTP API, which the command line prints too. Pure functions.
//
// Amounts are numbers with up to three decimals, moments are milliseconds since the Unix epoch.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/report.h"

namespace weir::api {

enum class Versions : unsigned char { hidden, shown };
/// `[L...]`; with the version of the limits if they are shown.
std::string limits_json(const LimitReport& report, Versions versions = Versions::hidden);
/// `{"limits":[L...]}`, each L a limit of a bucket: the answer to a change of a lease.
std::string to_json(const LimitReport& report);

/// How long a request waited for its decision; nothing: it was not to wait, and the answer does not say.
using Waited = std::optional<std::chrono::milliseconds>;
/// The answer to an acquire that was admitted. `deadline`: of the lease; 0: not shown.
std::string admitted_json(const LimitReport& report, std::string_view lease_id, Time deadline = 0,
                          Waited waited = {});
void append_admitted(std::string& out, const LimitReport& report, std::string_view lease_id,
                     Time deadline = 0, Waited waited = {});
/// The answer to an extension of a lease.
std::string extended_json(Time deadline);
/// The answer to an acquire that was admitted although the store is unavailable: nothing was charged.
std::string degraded_json();
/// The names of the limits that refused, each once, in the order of the report.
void find_exceeded(std::vector<std::string_view>& names, const LimitReport& report);
/// The answer to an acquire that was refused: a problem (RFC 9457) that names the limits which refused.
/// `decision`: the id that explains it; empty: none.
std::string refused_json(const Decision& refused, std::string_view decision = {}, Waited waited = {});
/// What a decision log keeps of a decision beside its limits, as `more`. `gave_up`: see
/// WaitingAcquire::gave_up().
struct Circumstances {
  bool exempt = false;
  std::string_view gave_up = {};
};
/// `{"blocked":true,"until_ms"?,"blocked_entity","reason"}`, as refusals have it among their members;
/// `"exempt":true`; `"waited_ms"` and `"gave_up"`. Empty where there is none of it, as for nearly all
/// decisions.
std::string more_json(const Decision& decision, const Circumstances& circumstances);
/// The answer to available().
std::string available_json(const Decision& decision);

/// The limits that refused and the wait, as one sentence: "over the limit rpm of key-1; retry in 1200 ms".
std::string refusal_text(const Decision& refused);
/// Whether a limit of 0 refused it, so that asking for less does not help.
bool is_blocked(const Decision& refused);

}  // namespace weir::api

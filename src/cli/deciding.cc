// acquire, available, and what can be done with a lease.
#include "api/decision_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/table.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;

/// How the amounts that a call named are headed: what it asked for, or the difference that it made.
enum class Asked { requested, difference };

void print_report(const Session& session, const LimitReport& report, Asked asked, bool with_wait) {
  using enum Table::Align;
  std::vector<Table::Column> columns = {{"ENTITY"},
                                        {"RESOURCE"},
                                        {"LIMIT"},
                                        {asked == Asked::requested ? "REQUESTED" : "DIFFERENCE", right},
                                        {"REMAINING", right},
                                        {"CAPACITY", right},
                                        {"BURST", right}};
  if (with_wait) columns.push_back({"WAIT", right});
  columns.push_back({"SOURCE"});
  Table table(std::move(columns));
  for (const LimitStatus& status : report) {
    const Tone tone = status.exceeded ? Tone::bad : Tone::plain;
    std::vector<Cell> row = {{std::string(status.entity)},
                             {std::string(status.resource)},
                             {std::string(status.name), tone},
                             {amount_text(status.requested)},
                             {amount_text(status.remaining), tone},
                             {amount_text(status.capacity)},
                             {amount_text(status.burst)}};
    if (with_wait) {
      const std::string wait = status.retry_after ? duration_text(*status.retry_after) : "never fits";
      row.push_back({status.exceeded ? wait : "-", tone});
    }
    row.push_back({join(name_of(status.source), status.owner == Owner::sync ? " (sync)" : "")});
    table.add(std::move(row));
  }
  table.print(session.out(), session.style());
}

/// "refused: rpm of key-1 ... wait 12 s". Says so of a look, too.
void print_refusal(const Session& session, const Decision& decision, const char* word) {
  const std::string advice = decision.never_fits()
                                 ? "never fits; ask for less, or raise the burst"
                                 : join("retry in ", duration_text(*decision.retry_after()), " (",
                                        std::to_string(decision.retry_after()->count()), " ms)");
  session.out() << session.style()(Tone::bad, word) << ": " << advice << '\n';
  print_report(session, decision.limits(), Asked::requested, true);
}

struct Request {
  std::vector<Charge> charges;
  std::optional<RequestLimits> limits;
  AcquireOptions options() const { return {.limits = limits ? &*limits : nullptr}; }
};

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  request.charges = *std::move(charges);
  if (arguments.limits.empty()) return request;
  const auto limits = read_limits(arguments.limits);
  if (!limits) return limits.error();
  auto made = RequestLimits::make(std::span(*limits));
  if (!made) return base::invalid("-l: ", made.error().message);
  request.limits = *std::move(made);
  return request;
}

/// The id of the lease of an admitted acquire. An id that cannot be made is of no use to anybody, so the
/// charge is given back.
Result<std::string> lease_id_of(Decision& decision) {
  auto id = decision.lease().id();
  if (!id) static_cast<void>(decision.lease().rollback());
  return id;
}

Result<ExitCode> print_admitted(const Session& session, Decision& decision, bool with_lease) {
  if (!session.json() && !with_lease) {
    session.out() << session.style()(Tone::good, "admitted") << '\n';
    print_report(session, decision.limits(), Asked::requested, false);
    return done;
  }
  const auto id = lease_id_of(decision);
  if (!id) return id.error();
  if (session.json()) {
    session.print_json(api::admitted_json(decision.limits(), *id));
    return done;
  }
  session.out() << session.style()(Tone::good, "admitted") << '\n';
  print_report(session, decision.limits(), Asked::requested, false);
  const auto left = std::chrono::milliseconds(decision.lease().deadline() - session.now());
  session.out() << "\nlease " << *id << "\nSay what was really used within " << duration_text(left)
                << ", or give it back:\n  weir lease settle " << *id
                << " -c NAME=AMOUNT\n  weir lease rollback " << *id << '\n';
  return done;
}

Result<ExitCode> print_changed(const Session& session, const Result<LimitReport>& report, const char* word) {
  if (!report) return report.error();
  if (session.json()) {
    session.print_json(api::to_json(*report));
    return done;
  }
  session.out() << session.style()(Tone::good, word) << '\n';
  print_report(session, *report, Asked::difference, false);
  return done;
}

}  // namespace

Result<ExitCode> acquire(Session& session, const Arguments& arguments) {
  const auto request = read_request(arguments);
  if (!request) return request.error();
  auto limiter = session.limiter();
  if (!limiter) return limiter.error();
  auto decision = (*limiter)->acquire(*arguments.entity, *arguments.resource, std::span(request->charges),
                                      request->options());
  if (!decision) return decision.error();
  if (decision->admitted()) return print_admitted(session, *decision, arguments.lease);
  if (session.json()) {
    session.print_json(api::refused_json(*decision));
  } else {
    print_refusal(session, *decision, "refused");
  }
  return refused;
}

Result<ExitCode> available(Session& session, const Arguments& arguments) {
  const auto request = read_request(arguments);
  if (!request) return request.error();
  auto limiter = session.limiter();
  if (!limiter) return limiter.error();
  auto decision = (*limiter)->available(*arguments.entity, *arguments.resource, std::span(request->charges),
                                        request->options());
  if (!decision) return decision.error();
  if (session.json()) {
    session.print_json(api::available_json(*decision));
  } else if (decision->refused()) {
    print_refusal(session, *decision, "would be refused");
  } else {
    if (!request->charges.empty()) session.out() << session.style()(Tone::good, "would be admitted") << '\n';
    print_report(session, decision->limits(), Asked::requested, false);
  }
  return decision->admitted() ? done : refused;
}

Result<ExitCode> lease_adjust(Session& session, const Arguments& arguments) {
  const auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  auto limiter = session.limiter();
  if (!limiter) return limiter.error();
  return print_changed(session, (*limiter)->adjust(arguments.lease_id, std::span(*charges), *arguments.key),
                       "adjusted");
}

Result<ExitCode> lease_settle(Session& session, const Arguments& arguments) {
  const auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  auto limiter = session.limiter();
  if (!limiter) return limiter.error();
  return print_changed(session, (*limiter)->settle(arguments.lease_id, std::span(*charges)), "settled");
}

Result<ExitCode> lease_rollback(Session& session, const Arguments& arguments) {
  auto limiter = session.limiter();
  if (!limiter) return limiter.error();
  return print_changed(session, (*limiter)->rollback(arguments.lease_id), "rolled back");
}

}  // namespace weir::cli

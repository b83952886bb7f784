// acquire, available, and the commands on a lease.
#include <utility>

#include "api/decision_json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "weir/limiter.h"

namespace weir::cli {
namespace {

using base::join;

/// The title of the column of amounts: the requested amount, or the difference that the call made.
enum class Asked { requested, difference };

void print_report(const Session& session, const LimitReport& report, Asked asked, bool with_wait) {
  using enum TextTable::Align;
  std::vector<TextTable::Column> columns = {{"ENTITY"},
                                            {"RESOURCE"},
                                            {"LIMIT"},
                                            {asked == Asked::requested ? "REQUESTED" : "DIFFERENCE", right},
                                            {"REMAINING", right},
                                            {"CAPACITY", right},
                                            {"BURST", right}};
  if (with_wait) columns.push_back({"WAIT", right});
  columns.push_back({"SOURCE"});
  TextTable table(std::move(columns));
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
    row.push_back(
        {join(name_of(status.source), status.owner == Owner::sync ? " (sync)" : "",
              status.mode == Mode::enforce ? "" : join(" (", to_text(status.mode), ")"),
              status.kind == Kind::rate ? "" : " (concurrent)", status.would_refuse ? " would refuse" : "")});
    table.add(std::move(row));
  }
  table.print(session.out(), session.style());
}

/// "refused: rpm of key-1 ... wait 12 s". Also for `available`.
void print_refusal(const Session& session, const Decision& decision, const std::string& word) {
  if (decision.block() != nullptr) {
    session.out() << session.style()(Tone::bad, word) << ": " << printable(api::refusal_text(decision))
                  << '\n';
    return;
  }
  std::string advice = "never fits; ask for less, or raise the burst";
  if (const auto wait = decision.retry_after()) {
    advice = join("retry in ", duration_text(*wait), " (", std::to_string(wait->count()), " ms)");
  } else if (api::is_blocked(decision)) {
    advice = "a limit of 0 admits nothing; raise it, or delete its level";
  } else if (!decision.never_fits()) {
    advice = "a bucket may expire before it holds this much; ask for no more than its capacity";
  }
  session.out() << session.style()(Tone::bad, word) << ": " << advice << '\n';
  print_report(session, decision.limits(), Asked::requested, true);
}

/// The charges and limits of the command line.
struct Wanted {
  std::vector<Charge> charges;
  std::vector<NamedLimit> limits;
  std::chrono::milliseconds lease_for{0};
  std::chrono::milliseconds max_wait{0};
};

Result<Wanted> read_wanted(const Arguments& arguments) {
  auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  auto limits = read_limits(arguments.limits);
  if (!limits) return limits.error();
  if (auto made = RequestLimits::make(std::span(std::as_const(*limits))); !made && !limits->empty())
    return base::invalid("-l: ", made.error().message);
  Wanted wanted{*std::move(charges), *std::move(limits)};
  if (arguments.lease_for) {
    const auto lease_for = read_duration("--lease-for", *arguments.lease_for);
    if (!lease_for) return lease_for.error();
    wanted.lease_for = *lease_for;
  }
  if (arguments.wait) {
    const auto wait = read_duration("--wait", *arguments.wait);
    if (!wait) return wait.error();
    if (*wait > AcquireOptions::longest_wait)
      return base::invalid("--wait ", *arguments.wait, ": the longest wait is ",
                           duration_text(AcquireOptions::longest_wait));
    wanted.max_wait = *wait;
  }
  return wanted;
}

client::Request request_of(const Arguments& arguments, const Wanted& wanted) {
  return {*arguments.entity, *arguments.resource, wanted.charges,
          wanted.limits,     wanted.lease_for,    wanted.max_wait};
}

/// " after 1.2 s", of a request that was to wait.
std::string after_text(const Decision& decision, const api::Waited& waited) {
  return waited ? join(" after ", duration_text(decision.waited())) : std::string();
}

void print_admitted(const Session& session, const client::Acquired& acquired, bool with_lease,
                    const api::Waited& waited) {
  if (session.json()) {
    if (acquired.degraded) return session.print_json(api::degraded_json());
    const bool holds = acquired.decision.limits().has_concurrent();
    return session.print_json(api::admitted_json(acquired.decision.limits(), acquired.lease,
                                                 holds ? acquired.deadline : 0, waited));
  }
  session.out() << session.style()(Tone::good, "admitted") << after_text(acquired.decision, waited) << '\n';
  if (acquired.degraded)
    return session.warn("the service cannot reach its store and was told to admit then; nothing was charged");
  print_report(session, acquired.decision.limits(), Asked::requested, false);
  if (!with_lease) return;
  session.out() << "\nlease " << acquired.lease << "\nSay what was really used";
  if (acquired.deadline != 0) {
    const auto left = std::chrono::milliseconds(acquired.deadline - session.now());
    session.out() << " within " << duration_text(left);
  }
  session.out() << ", or give it back:\n  weir lease settle " << acquired.lease
                << " -c NAME=AMOUNT\n  weir lease rollback " << acquired.lease << '\n';
}

Result<ExitCode> print_changed(const Session& session, const Result<LimitReport>& report, const char* word) {
  if (!report && report.error().code == ErrorCode::exhausted) {
    session.out() << session.style()(Tone::bad, "refused") << ": " << report.error().message << '\n';
    return refused;
  }
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
  const auto wanted = read_wanted(arguments);
  if (!wanted) return wanted.error();
  const auto acquired =
      session.target().acquire(request_of(arguments, *wanted), session.json() || arguments.lease);
  if (!acquired) return acquired.error();
  session.warn_if_forgotten();
  const Decision& decision = acquired->decision;
  const api::Waited waited = arguments.wait ? api::Waited(decision.waited()) : std::nullopt;
  if (decision.admitted()) {
    print_admitted(session, *acquired, arguments.lease, waited);
    return done;
  }
  if (session.json()) {
    session.print_json(api::refused_json(decision, acquired->id, waited));
  } else {
    print_refusal(session, decision, join("refused", after_text(decision, waited)));
    // For people; programs read the JSON.
    if (!acquired->id.empty() && session.world().err_is_terminal)
      session.note(join("weir explain ", acquired->id, " says why"));
  }
  return refused;
}

Result<ExitCode> available(Session& session, const Arguments& arguments) {
  const auto wanted = read_wanted(arguments);
  if (!wanted) return wanted.error();
  const auto decision = session.existing().available(request_of(arguments, *wanted));
  if (!decision) return decision.error();
  if (session.json()) {
    session.print_json(api::available_json(*decision));
  } else if (decision->refused()) {
    print_refusal(session, *decision, "would be refused");
  } else {
    if (!wanted->charges.empty()) session.out() << session.style()(Tone::good, "would be admitted") << '\n';
    print_report(session, decision->limits(), Asked::requested, false);
  }
  return decision->admitted() ? done : refused;
}

Result<ExitCode> lease_adjust(Session& session, const Arguments& arguments) {
  const auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  client::Target& target = session.existing();
  return print_changed(session,
                       target.adjust(arguments.lease_id, std::span(*charges), *arguments.key,
                                     arguments.enforce ? Debt::refused : Debt::allowed),
                       "adjusted");
}

Result<ExitCode> lease_settle(Session& session, const Arguments& arguments) {
  const auto charges = read_charges(arguments.consume);
  if (!charges) return charges.error();
  client::Target& target = session.existing();
  return print_changed(session, target.settle(arguments.lease_id, std::span(*charges)), "settled");
}

Result<ExitCode> lease_rollback(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  return print_changed(session, target.rollback(arguments.lease_id), "rolled back");
}

Result<ExitCode> lease_extend(Session& session, const Arguments& arguments) {
  const auto lease_for = read_duration("--for", *arguments.lease_for);
  if (!lease_for) return lease_for.error();
  const auto deadline = session.existing().extend(arguments.lease_id, *lease_for);
  if (!deadline) return deadline.error();
  if (session.json()) {
    session.print_json(api::extended_json(*deadline));
  } else {
    session.out() << session.style()(Tone::good, "extended") << " until " << moment_text(*deadline) << " ("
                  << relative_text(*deadline, session.now()) << ")\n";
  }
  return done;
}

}  // namespace weir::cli

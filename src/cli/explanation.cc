#include "cli/explanation.h"

#include <algorithm>

#include "base/json.h"
#include "base/maxima.h"
#include "base/text.h"
#include "cli/text_table.h"
#include "cli/words.h"
#include "decision_log/entry_json.h"
#include "json/document.h"
#include "weir/decision.h"

namespace weir::cli {
namespace {

using base::join;
using decision_log::Entry;
using decision_log::EntryKind;
using decision_log::EntryOutcome;

/// "1 rpm and 500 tpm".
std::string amounts_text(const std::vector<std::pair<std::string, Amount>>& amounts) {
  std::string text;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (i > 0) text += i + 1 == amounts.size() ? " and " : ", ";
    text += join(amount_text(amounts[i].second), " ", amounts[i].first);
  }
  return text.empty() ? "nothing" : text;
}

/// What the limit held when it was asked.
Amount held(const Entry& entry, const LimitStatus& status) {
  const bool charged = entry.outcome == EntryOutcome::admitted && !status.would_refuse;
  return Amount::milli(status.remaining.millitokens() + (charged ? status.requested.millitokens() : 0));
}

/// Where a limit is set: "key-7 on gpt-4", "the plan of key-7".
std::string level_of(const LimitStatus& status) {
  switch (status.source) {
    case Source::entity:
      return level_text(Level::entity(status.entity, status.resource));
    case Source::entity_default:
      return level_text(Level::entity_default(status.entity));
    case Source::plan:
      return join("the plan of ", status.entity);
    case Source::resource:
      return level_text(Level::resource(status.resource));
    case Source::system:
      return "the system";
    case Source::request:
      break;
  }
  return "the request itself";
}

/// The options that name the level of a limit; empty for a level that `limits set` cannot change.
std::string level_options(const LimitStatus& status) {
  switch (status.source) {
    case Source::entity:
      return join("--entity ", status.entity, " --resource ", status.resource);
    case Source::entity_default:
      return join("--entity ", status.entity);
    case Source::resource:
      return join("--resource ", status.resource);
    case Source::system:
      return "--system";
    default:
      return {};
  }
}

std::string verdict_of(const LimitStatus& status) {
  if (status.exceeded) return "refused";
  if (status.would_refuse) return "would refuse";
  if (status.mode != Mode::enforce) return std::string(to_text(status.mode));
  return {};
}

void print_limits(const Session& session, const Entry& entry) {
  using Align = TextTable::Align;
  TextTable table({{"ENTITY"},
                   {"LIMIT"},
                   {"ASKED", Align::right},
                   {"HELD", Align::right},
                   {"CAPACITY", Align::right},
                   {"SET FOR"},
                   {""}});
  for (const LimitStatus& status : entry.report) {
    const Tone tone = status.exceeded ? Tone::bad : Tone::plain;
    table.add({{std::string(status.entity)},
               {std::string(status.name), tone},
               {amount_text(status.requested)},
               {amount_text(held(entry, status)), tone},
               {amount_text(status.capacity)},
               {level_of(status)},
               {verdict_of(status), tone}});
  }
  table.print(session.out(), session.style());
}

/// Why one limit refused, as sentences.
std::string reason_of(const LimitStatus& status) {
  std::string text =
      join("The limit ", status.name, " of ", status.entity, " refused: it held ",
           amount_text(status.remaining), ", and ", amount_text(status.requested), " were asked for. ");
  if (status.capacity == Amount()) {
    text += "A limit of 0 admits nothing. ";
  } else if (!status.retry_after) {
    text += join("It never holds more than ", amount_text(status.burst), ". ");
  }
  text += join("It is set for ", level_of(status));
  if (status.version > 0) text += join(", and was last changed at ", moment_text(status.version));
  return text + ".";
}

/// The block that refused; nothing: none did.
std::optional<Block> block_of(const Entry& entry) {
  if (entry.more.empty()) return std::nullopt;
  json::Document document(entry.more, "the decision");
  Block block;
  document.members([&](std::string_view key, json::Value& value) {
    if (key == "blocked_entity") {
      block.entity = document.text(value, key);
    } else if (key == "reason") {
      block.reason = document.text(value, key);
    } else if (key == "until_ms") {
      block.until = document.integer(value, key);
    } else if (key == "blocked_resource") {
      block.resource = document.text(value, key);
    }
  });
  return document.failed() || block.entity.empty() ? std::nullopt : std::optional(std::move(block));
}

std::string block_text(const Block& block) {
  return join(block.entity, " was blocked",
              block.until ? " until " + moment_text(*block.until) : std::string(), ": ", block.reason, ".");
}

/// The sentence in `more` that says why a change of a lease was refused; empty: none.
std::string detail_of(const Entry& entry) {
  if (entry.more.empty()) return {};
  json::Document document(entry.more, "the decision");
  std::string detail;
  document.members([&](std::string_view key, json::Value& value) {
    if (key == "detail") detail = document.text(value, key);
  });
  return document.failed() ? std::string() : detail;
}

/// How a request that was to wait for refill ended.
struct WaitResult {
  Time waited = 0;
  std::string gave_up = {};  ///< empty: it did not
};

WaitResult waiting_of(const Entry& entry) {
  if (entry.more.empty()) return {};
  json::Document document(entry.more, "the decision");
  WaitResult waiting;
  document.members([&](std::string_view key, json::Value& value) {
    if (key == "waited_ms") waiting.waited = document.integer(value, key);
    if (key == "gave_up") waiting.gave_up = document.text(value, key);
  });
  return document.failed() ? WaitResult() : waiting;
}

/// Why a request that was to wait was refused; empty if waiting had no part in it.
std::string waiting_text(const Entry& entry) {
  const WaitResult waiting = waiting_of(entry);
  const std::string time = duration_text(std::chrono::milliseconds(waiting.waited));
  std::string text;
  if (waiting.gave_up == "no-room") {
    text = join("It could not wait: too many requests were waiting already (at most ",
                count_text(maxima::waiters_of_a_bucket), " for one entity and resource, and ",
                count_text(maxima::waiters), " in a process). ");
  } else if (waiting.gave_up == "deadline") {
    text = join("It waited for ", time, ", as long as it was told to, and had no turn in that time. ");
  } else if (waiting.gave_up == "hurried") {
    text = join("It waited for ", time, ", until its caller left or the process was shut down. ");
  } else if (waiting.waited != 0) {
    text = join("It waited for ", time, ". ");
  }
  const bool exceeded = std::any_of(entry.report.begin(), entry.report.end(),
                                    [](const LimitStatus& status) { return status.exceeded; });
  if (!exceeded && !entry.report.empty() && entry.kind == EntryKind::acquire)
    text += "Every limit held enough, but requests that came before it were waiting for more. ";
  if (!text.empty()) text.pop_back();
  return text;
}

std::string passes_text(const Entry& entry) {
  if (entry.never_fits) return "No wait would have helped.";
  if (!entry.wait) return "No wait can be promised: the bucket may expire before it holds this much.";
  // Rounded up to a second, as the wait is.
  return join("It would have passed ", duration_text(std::chrono::milliseconds(*entry.wait)), " later, at ",
              moment_text(entry.at + *entry.wait + 999), ", if nobody else had used it.");
}

void print_use(const Session& session, const Explanation& explanation) {
  if (!explanation.knows_use) {
    session.note(
        "the log has no admitted requests of that time, so it cannot say who used the limit; "
        "--decision-log-mode all keeps them");
    return;
  }
  for (const UsedBefore& used : explanation.used) {
    session.out() << "\nIn the 5 minutes before, " << printable(used.limit) << " of "
                  << printable(used.entity) << " was used by:\n";
    for (const UsedBefore::By& by : used.by) {
      session.out() << "  " << printable(by.entity) << "  " << amount_text(by.amount) << " ("
                    << count_text(by.decisions) << (by.decisions == 1 ? " decision)\n" : " decisions)\n");
    }
    if (used.by.empty()) session.out() << "  no entity\n";
  }
}

void print_refusal(const Session& session, const Explanation& explanation) {
  const Entry& entry = explanation.entry;
  session.out() << '\n';
  for (const LimitStatus& status : entry.report) {
    if (status.exceeded) session.out() << printable(reason_of(status)) << '\n';
  }
  if (const auto block = block_of(entry)) {
    session.out() << printable(block_text(*block)) << '\n';
  } else if (const std::string detail = detail_of(entry); !detail.empty()) {
    session.out() << printable(detail) << ".\n";
  } else {
    if (const std::string waiting = waiting_text(entry); !waiting.empty()) session.out() << waiting << '\n';
    session.out() << passes_text(entry) << '\n';
    print_use(session, explanation);
  }
  const auto commands = commands_for(entry);
  if (!commands.empty()) session.out() << "\nTo change it:\n";
  for (const std::string& command : commands) session.out() << "  " << printable(command) << '\n';
}

}  // namespace

std::vector<std::string> commands_for(const Entry& entry) {
  std::vector<std::string> commands;
  const auto add = [&](std::string command) {
    if (std::find(commands.begin(), commands.end(), command) == commands.end())
      commands.push_back(std::move(command));
  };
  if (const auto block = block_of(entry)) {
    add(join("weir entity get ", block->entity, "    shows the rules of the entity"));
    add(join("weir block ", block->entity, block->resource.empty() ? "" : " --resource ", block->resource,
             " --remove    ends the block"));
  }
  for (const LimitStatus& status : entry.report) {
    if (!status.exceeded) continue;
    const std::string limit = join(" -l ", status.name, ":AMOUNT");
    if (const std::string level = level_options(status); !level.empty()) {
      add(join("weir limits get ", level, "    shows the limits of this level"));
      add(join("weir limits set ", level, limit, "    with the others of the level, which it replaces"));
    }
    if (status.source == Source::plan)
      add(join("weir entity get ", status.entity, "    names its plan; weir plan set changes it"));
    if (status.source == Source::request) {
      add("the limits came with the request: change them where it is made, or in the route of the gateway");
    }
    if (status.source != Source::entity) {
      add(join("weir limits set --entity ", status.entity, " --resource ", status.resource, " --inherit",
               limit, "    for ", status.entity, " alone"));
    }
  }
  return commands;
}

void print(const Session& session, const Explanation& explanation) {
  const Entry& entry = explanation.entry;
  const bool refused = entry.outcome == EntryOutcome::refused;
  const std::string_view kind = decision_log::kind_names[static_cast<std::size_t>(entry.kind)];
  const bool change = entry.kind != EntryKind::acquire;
  const std::string did = change && refused ? join("was refused the change ", kind, " of a lease")
                          : change          ? join("made the change ", kind, " of a lease")
                          : refused         ? "was refused"
                                            : "was admitted";
  session.out() << session.style()(Tone::heading,
                                   printable(join(entry.entity, " ", did, " on ", entry.resource, " at ",
                                                  moment_text(entry.at))))
                << '\n';
  session.out() << "decision " << entry.id;
  if (!entry.request_id.empty()) session.out() << ", request " << printable(entry.request_id);
  if (entry.name_space != "default") session.out() << ", namespace " << printable(entry.name_space);
  session.out() << "\n\nIt asked for " << printable(amounts_text(decision_log::asked_by(entry))) << ".\n\n";
  if (!entry.report.empty()) print_limits(session, entry);
  if (refused) print_refusal(session, explanation);
  if (explanation.more_refusals.empty()) return;
  session.out() << '\n' << count_text(explanation.more_refusals.size()) << " more refused in that time:\n";
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < explanation.more_refusals.size() && i < most; ++i) {
    const Entry& other = explanation.more_refusals[i];
    session.out() << "  " << other.id << "  " << moment_text(other.at) << "  "
                  << printable(join(other.entity, " on ", other.resource)) << '\n';
  }
}

std::string to_json(const Explanation& explanation) {
  auto used = base::JsonWriter::array();
  for (const UsedBefore& one : explanation.used) {
    auto by = base::JsonWriter::array();
    for (const UsedBefore::By& who : one.by) {
      by.add(base::JsonWriter::object()
                 .text("entity", who.entity)
                 .raw("amount", who.amount.to_string())
                 .number("decisions", static_cast<long long>(who.decisions))
                 .str());
    }
    used.add(base::JsonWriter::object()
                 .text("entity", one.entity)
                 .text("limit", one.limit)
                 .raw("by", by.str())
                 .str());
  }
  auto commands = base::JsonWriter::array();
  if (explanation.entry.outcome == EntryOutcome::refused) {
    for (const std::string& command : commands_for(explanation.entry))
      commands.add(base::json_string(command.substr(0, command.find("    "))));
  }
  auto more = base::JsonWriter::array();
  for (const Entry& entry : explanation.more_refusals) more.add(base::json_string(entry.id));
  auto json = base::JsonWriter::object();
  json.raw("decision", decision_log::to_json(explanation.entry)).raw("used_before", used.str());
  json.flag("knows_use", explanation.knows_use).raw("commands", commands.str());
  json.raw("more_refusals", more.str());
  return json.str();
}

}  // namespace weir::cli

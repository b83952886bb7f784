#include "cli/usage_follow.h"

#include <map>
#include <tuple>

#include "api/usage_json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "base/wide.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;

/// "13 (+1)"; without the difference if there is none.
std::string changed_text(Amount now, Amount before, bool known) {
  const Amount difference = Amount::milli(base::wrapping_sub(now.millitokens(), before.millitokens()));
  if (!known || difference == Amount()) return amount_text(now);
  return join(amount_text(now), difference > Amount() ? " (+" : " (", amount_text(difference), ")");
}

Amount amount_in(const Usage& usage, const std::string& limit) {
  for (const UsedAmount& used : usage.limits) {
    if (used.limit == limit) return used.amount;
  }
  return {};
}

/// "2026-11-17 14:00  key-1 on gpt-4  rpm 13 (+1), 13 events (+1)".
std::string change_text(const Usage& usage, const Usage& before, bool known) {
  std::string amounts;
  for (const UsedAmount& used : usage.limits)
    amounts += join(used.limit, " ", changed_text(used.amount, amount_in(before, used.limit), known), ", ");
  for (const UsedAmount& used : before.limits) {
    if (amount_in(usage, used.limit) == Amount())
      amounts += join(used.limit, " ", changed_text({}, used.amount, known), ", ");
  }
  const auto events = [](const Usage& of) { return Amount::milli(of.events * 1000); };
  return join(moment_text(usage.start).substr(0, usage.window == UsageWindow::day ? 10 : 16), "  ",
              printable(usage.entity), " on ", printable(usage.resource), "  ", amounts, "events ",
              changed_text(events(usage), events(before), known));
}

/// The windows that were printed, to tell which have changed.
class Followed {
 public:
  explicit Followed(Session& session) : session_(session) {
    if (session.csv()) print_csv_titles(session.out());
  }
  Result<void> look(const UsageFilter& filter) {
    client::Target& target = session_.existing();
    return for_each_item([&](const Paging& paging) { return target.usage(filter, paging); },
                         [&](const Usage& usage) { see(usage); });
  }
  /// Windows before this moment are not read again.
  void forget_before(Time start) {
    std::erase_if(known_, [&](const auto& entry) { return entry.second.start < start; });
  }

 private:
  void see(const Usage& usage) {
    const auto [at, is_new] =
        known_.try_emplace({usage.entity, usage.resource, usage.window, usage.start}, Usage());
    if (!is_new && at->second == usage) return;
    if (session_.json()) {
      session_.out() << api::to_json(usage) << '\n';
    } else if (session_.csv()) {
      print_csv(session_.out(), usage);
    } else {
      session_.out() << change_text(usage, at->second, !is_new) << '\n';
    }
    at->second = usage;
  }

  Session& session_;
  std::map<std::tuple<std::string, std::string, UsageWindow, Time>, Usage> known_;
};

}  // namespace

void print_csv_titles(std::ostream& out) { out << "entity,resource,window,start,limit,amount,events\n"; }

void print_csv(std::ostream& out, const Usage& usage) {
  const std::string window = join(usage.entity, ",", usage.resource, ",", name_of(usage.window), ",",
                                  base::rfc3339_text(usage.start), ",");
  std::string events = std::to_string(usage.events);
  if (usage.limits.empty()) out << window << ",," << events << '\n';
  for (const UsedAmount& used : usage.limits) {
    out << window << used.limit << ',' << used.amount.to_string() << ',' << events << '\n';
    events.clear();
  }
}

Result<ExitCode> follow_usage(Session& session, UsageFilter filter, std::chrono::milliseconds interval) {
  Followed followed(session);
  bool failing = false;
  for (bool first = true;; first = false) {
    const auto looked = followed.look(filter);
    if (!looked && (first || looked.error().code != ErrorCode::unavailable)) return looked.error();
    if (!looked && !failing) session.note(join(looked.error().message, "; trying again"));
    failing = !looked;
    session.out().flush();
    session.release_file();
    if (!session.world().wait(interval)) return done;
    // Late charges count in their own hour, so the window before the present one may still change.
    const Time earliest = start_of(filter.window, session.now()) - length_of(filter.window);
    filter.from = std::max(filter.from, earliest);
    followed.forget_before(filter.from);
  }
}

}  // namespace weir::cli

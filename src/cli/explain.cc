// explain: why a request was refused.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/decision_file.h"
#include "cli/explanation.h"
#include "cli/usage_range.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;
using decision_log::Entry;
using decision_log::EntryOutcome;
using decision_log::Filter;

constexpr Time minute = 60'000;
/// How far back the use of a limit is added up.
constexpr Time use_before = 5 * minute;
/// Decisions that are read for it, so that a busy service is not asked for too much.
constexpr std::size_t most_read = 20'000;

/// Where decisions come from: a file, or the target of the command.
class DecisionSource {
 public:
  static Result<DecisionSource> make(Session& session, const Arguments& arguments) {
    DecisionSource source(session);
    if (!arguments.log_file) return source;
    if (arguments.common.server || arguments.common.store)
      return base::invalid("--log reads a file; leave out --server and --store");
    auto file = DecisionFile::open(*arguments.log_file);
    if (!file) return file.error();
    source.file_ = std::make_shared<const DecisionFile>(*std::move(file));
    return source;
  }
  Result<Entry> find(const std::string& id) {
    return file_ ? file_->reader().find(id, name_space()) : session_->target().decision(id);
  }
  Result<Page<Entry>> list(Filter filter, const Paging& paging) {
    filter.name_space = name_space();
    return file_ ? file_->reader().list(filter, paging) : session_->target().decisions(filter, paging);
  }

 private:
  explicit DecisionSource(Session& session) : session_(&session) {}
  const std::string& name_space() { return session_->options().name_space; }

  Session* session_;
  std::shared_ptr<const DecisionFile> file_;
};

/// A range of time.
struct Span {
  Time from;
  Time to;
};

/// "10:03" or "10:03:12", of today, or of yesterday where that would be in the future; or another moment,
/// with half a minute around it.
Result<Span> read_at(const std::string& text, Time now) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  const auto pair = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  const bool short_form =
      (text.size() == 5 || (text.size() == 8 && text[5] == ':' && digit(6) && digit(7))) && text[2] == ':' &&
      digit(0) && digit(1) && digit(3) && digit(4);
  if (!short_form) {
    const auto moment = read_moment("--at", text, now);
    if (!moment && text.find(':') != std::string::npos && text.size() <= 8)
      return base::invalid("--at: ", base::quoted(text), " is not a time; write 10:03 or 10:03:12, of UTC");
    if (!moment) return moment.error();
    return Span{*moment - minute / 2, *moment + minute / 2};
  }
  const int seconds = text.size() == 8 ? pair(6) : 0;
  if (pair(0) > 23 || pair(3) > 59 || seconds > 59)
    return base::invalid("--at: there is no time ", base::quoted(text));
  const Time at = start_of(UsageWindow::day, now) + ((pair(0) * 60 + pair(3)) * 60 + seconds) * Time{1000};
  constexpr Time day = 24 * 60 * minute;
  const Time from = at > now ? at - day : at;
  return Span{from, from + (text.size() == 8 ? 1000 : minute)};
}

/// Adds up who used the limits that refused.
Result<void> add_use(DecisionSource& source, Explanation& explanation) {
  const Entry& refused = explanation.entry;
  for (const LimitStatus& status : refused.report) {
    if (!status.exceeded) continue;
    std::map<std::string, UsedBefore::By> users;
    const Filter filter{.chain = std::string(status.entity),
                        .resource = refused.resource,
                        .from = std::max<Time>(0, refused.at - use_before),
                        .to = refused.at + 1};
    auto read = for_each_item(
        [&](const Paging& paging) { return source.list(filter, paging); },
        [&](const Entry& entry) {
          if (entry.outcome != EntryOutcome::admitted) return;
          explanation.knows_use = true;
          for (const LimitStatus& line : entry.report) {
            if (line.entity != status.entity || line.name != status.name || line.requested == Amount())
              continue;
            UsedBefore::By& by = users[entry.entity];
            by.entity = entry.entity;
            by.amount = Amount::milli(by.amount.millitokens() + line.requested.millitokens());
            by.decisions += 1;
          }
        },
        most_read);
    if (!read) return read;
    UsedBefore used{std::string(status.entity), std::string(status.name)};
    for (auto& [name, by] : users) used.by.push_back(std::move(by));
    std::sort(used.by.begin(), used.by.end(), [](const auto& a, const auto& b) {
      return a.amount != b.amount ? a.amount > b.amount : a.entity < b.entity;
    });
    constexpr std::size_t most_users = 5;
    if (used.by.size() > most_users) used.by.resize(most_users);
    explanation.used.push_back(std::move(used));
  }
  return {};
}

/// Refusals that the filter selects, oldest first; at most one page.
Result<std::vector<Entry>> refusals(DecisionSource& source, Filter filter, std::size_t most) {
  filter.outcome = EntryOutcome::refused;
  std::vector<Entry> found;
  auto read = for_each_item([&](const Paging& paging) { return source.list(filter, paging); },
                            [&](const Entry& entry) { found.push_back(entry); }, most);
  if (!read) return read.error();
  // An entity whose limits refused the requests of others.
  if (found.empty() && !filter.entity.empty()) {
    filter.chain = std::exchange(filter.entity, {});
    return refusals(source, filter, most);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Why there is nothing to explain, with the nearest refusals.
Error nothing_found(DecisionSource& source, const Filter& filter, const std::optional<Span>& span) {
  const std::string who = join(filter.entity, filter.resource.empty() ? "" : " on ", filter.resource);
  if (!span) return base::error(ErrorCode::not_found, "the log has no refusal of ", who);
  constexpr Time around = 60 * minute;
  Filter near = filter;
  near.from = std::max<Time>(0, span->from - around);
  near.to = span->to + around;
  std::string message = join("the log has no refusal of ", who, " between ", moment_text(span->from), " and ",
                             moment_text(span->to));
  const auto others = refusals(source, near, 1000);
  if (!others || others->empty())
    return base::error(ErrorCode::not_found, message, ", nor an hour around it");
  const auto distance = [&](const Entry& entry) {
    return entry.at < span->from ? span->from - entry.at : entry.at - span->to;
  };
  const auto nearest = std::min_element(others->begin(), others->end(), [&](const auto& a, const auto& b) {
    return distance(a) < distance(b);
  });
  return base::error(ErrorCode::not_found, message, "; the nearest is ", nearest->id, " at ",
                     moment_text(nearest->at));
}

Result<Explanation> find_by_entity(DecisionSource& source, const Arguments& arguments, Time now) {
  Filter filter{.entity = *arguments.entity, .resource = arguments.resource.value_or("")};
  std::optional<Span> span;
  if (arguments.at) {
    const auto read = read_at(*arguments.at, now);
    if (!read) return read.error();
    span = *read;
    filter.from = std::max<Time>(0, span->from);
    filter.to = span->to;
  }
  auto found = refusals(source, filter, span ? 1000 : 1);
  if (!found) return found.error();
  if (found->empty()) return nothing_found(source, filter, span);
  Explanation explanation{.entry = std::move(found->front())};
  explanation.more_refusals.assign(std::make_move_iterator(found->begin() + 1),
                                   std::make_move_iterator(found->end()));
  return explanation;
}

}  // namespace

Result<ExitCode> explain(Session& session, const Arguments& arguments) {
  const bool by_entity = arguments.entity.has_value();
  if (arguments.decision && (by_entity || arguments.resource || arguments.at))
    return base::invalid("say the ID of a decision, or --entity with --resource and --at, not both");
  if (!arguments.decision && !by_entity)
    return base::invalid(
        "say which decision: its ID, or --entity E --at TIME, as in weir explain --entity key-7 "
        "--at 10:03");
  auto source = DecisionSource::make(session, arguments);
  if (!source) return source.error();
  Explanation explanation;
  if (by_entity) {
    auto found = find_by_entity(*source, arguments, session.now());
    if (!found) return found.error();
    explanation = *std::move(found);
  } else {
    auto entry = source->find(*arguments.decision);
    if (!entry) return entry.error();
    explanation.entry = *std::move(entry);
  }
  if (auto added = add_use(*source, explanation); !added) return added.error();
  if (session.json()) {
    session.print_json(to_json(explanation));
  } else {
    print(session, explanation);
  }
  return done;
}

}  // namespace weir::cli

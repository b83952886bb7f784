// usage: what was used, and who used the most.
#include <algorithm>
#include <map>
#include <set>

#include "api/usage_json.h"
#include "base/maxima.h"
#include "base/text.h"
#include "base/wide.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/usage_chart.h"
#include "cli/usage_follow.h"
#include "cli/usage_range.h"
#include "cli/words.h"
#include "usage/rows.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

constexpr std::size_t widest_sparkline = 48;
constexpr std::size_t widest_bar = 40;

/// The compared figure: a limit, or events.
struct Measure {
  std::string limit;  ///< empty: events

  template <class Row>
  std::int64_t of(const Row& row) const {
    if (limit.empty()) return row.events;
    for (const UsedAmount& used : row.limits) {
      if (used.limit == limit) return used.amount.millitokens();
    }
    return 0;
  }
  std::string text(std::int64_t value) const {
    return amount_text(Amount::milli(limit.empty() ? value * 1000 : value));
  }
  std::string title() const { return limit.empty() ? "EVENTS" : limit; }
};

/// "2026-11-16 14:00", or the day alone.
std::string start_text(Time start, UsageWindow window) {
  return moment_text(start).substr(0, window == UsageWindow::day ? 10 : 16);
}

/// The columns of the sparklines: each has one window, or several in a row.
class TimeScale {
 public:
  TimeScale(const UsageFilter& filter, Time now) : window_(filter.window), length_(length_of(filter.window)) {
    from_ = start_of(window_, filter.from);
    to_ = std::max(start_of(window_, std::min(filter.to - 1, now)) + length_, from_ + length_);
    windows_ = (static_cast<std::size_t>((to_ - from_) / length_) + widest_sparkline - 1) / widest_sparkline;
  }
  std::vector<std::int64_t> values(const UsageTotal& total, const Measure& measure) const {
    const Time width = length_ * static_cast<Time>(windows_);
    std::vector<std::int64_t> values(static_cast<std::size_t>((to_ - from_ + width - 1) / width));
    for (const Usage& usage : total.series) {
      const auto at = static_cast<std::size_t>(std::max<Time>(usage.start - from_, 0) / width);
      std::int64_t& value = values[std::min(at, values.size() - 1)];
      value = base::wrapping_add(value, measure.of(usage));
    }
    return values;
  }
  /// "PER HOUR", "PER 4 HOURS".
  std::string title() const {
    const bool day = window_ == UsageWindow::day;
    if (windows_ == 1) return day ? "PER DAY" : "PER HOUR";
    return join("PER ", std::to_string(windows_), day ? " DAYS" : " HOURS");
  }
  /// "2026-11-16 00:00 to 2026-11-17 00:00 UTC".
  std::string range_text() const {
    return join(start_text(from_, UsageWindow::hour), " to ", start_text(to_, UsageWindow::hour), " UTC");
  }

 private:
  UsageWindow window_;
  Time length_;
  Time from_ = 0;
  Time to_ = 0;
  std::size_t windows_ = 1;  ///< in one column
};

struct View {
  UsageFilter filter;
  Measure measure;
  TimeScale scale;
  Charset charset;
  bool ranked;  ///< the lines are the top
};

/// "rpm 12, tpm 5,000, 12 events".
std::string total_text(const UsageTotal& total) {
  std::string text;
  for (const UsedAmount& used : total.limits) text += join(used.limit, " ", amount_text(used.amount), ", ");
  return join(text, amount_text(Amount::milli(total.events * 1000)),
              total.events == 1 ? " event" : " events");
}

void print_table(const Session& session, const View& view, const std::vector<UsageTotal>& totals) {
  using Align = TextTable::Align;
  std::set<std::string> limits;
  for (const UsageTotal& total : totals) {
    for (const UsedAmount& used : total.limits) limits.insert(used.limit);
  }
  std::vector<TextTable::Column> columns{{"ENTITY"}, {"RESOURCE"}};
  for (const std::string& limit : limits) columns.push_back({limit, Align::right});
  columns.push_back({"EVENTS", Align::right});
  if (view.ranked) columns.push_back({"MOST AT"});
  columns.push_back({join(view.measure.title(), " ", view.scale.title())});
  TextTable table(std::move(columns));
  for (const UsageTotal& total : totals) {
    std::vector<Cell> row{{total.entity}, {total.resource.empty() ? "every" : total.resource}};
    for (const std::string& limit : limits)
      row.push_back({amount_text(Amount::milli(Measure{limit}.of(total)))});
    row.push_back({amount_text(Amount::milli(total.events * 1000))});
    if (view.ranked) {
      const auto most = std::max_element(
          total.series.begin(), total.series.end(),
          [&](const auto& a, const auto& b) { return view.measure.of(a) < view.measure.of(b); });
      row.push_back({most == total.series.end() ? "" : start_text(most->start, most->window)});
    }
    row.push_back({sparkline(view.scale.values(total, view.measure), view.charset)});
    table.add(std::move(row));
  }
  session.out() << session.style()(Tone::quiet, view.scale.range_text()) << '\n';
  table.print(session.out(), session.style());
}

/// A bar for each window; windows without usage between others are shown as one line.
void print_plot(const Session& session, const View& view, const UsageTotal& total) {
  session.out() << session.style()(Tone::heading, join(printable(total.entity), " on ",
                                                       total.resource.empty() ? "every resource"
                                                                              : printable(total.resource)))
                << ": " << total_text(total) << '\n';
  std::int64_t largest = 0;
  for (const Usage& usage : total.series) largest = std::max(largest, view.measure.of(usage));
  std::size_t width = 0;
  for (const Usage& usage : total.series)
    width = std::max(width, view.measure.text(view.measure.of(usage)).size());
  Time expected = total.series.empty() ? 0 : total.series.front().start;
  for (const Usage& usage : total.series) {
    if (usage.start > expected) session.out() << session.style()(Tone::quiet, "...") << '\n';
    const std::string value = view.measure.text(view.measure.of(usage));
    const std::string drawn = bar(view.measure.of(usage), largest, widest_bar, view.charset);
    session.out() << start_text(usage.start, usage.window) << "  " << std::string(width - value.size(), ' ')
                  << value << (drawn.empty() ? "" : "  ") << drawn << '\n';
    expected = usage.start + length_of(usage.window);
  }
}

void print_plots(const Session& session, const View& view, const std::vector<UsageTotal>& totals) {
  session.out() << session.style()(Tone::quiet,
                                   join(view.scale.range_text(), ", bars: ",
                                        view.measure.limit.empty() ? "events" : view.measure.limit))
                << '\n';
  for (const UsageTotal& total : totals) {
    if (&total != &totals.front()) session.out() << '\n';
    print_plot(session, view, total);
  }
}

/// The limits that were used, for one who asked for another; empty if there are none.
std::string used_limits(Session& session, const UsageFilter& filter) {
  const auto top = session.existing().top_usage(filter, {}, maxima::top_usage);
  std::set<std::string> names;
  for (const UsageTotal& total : top ? *top : std::vector<UsageTotal>()) {
    for (const UsedAmount& used : total.limits) names.insert(used.limit);
  }
  std::string text;
  for (const std::string& name : names) text += join(text.empty() ? "" : ", ", name);
  return text;
}

/// Tells why there may be nothing.
void note_nothing(Session& session, const View& view) {
  const std::string what = join("no usage is counted from ", view.scale.range_text());
  const std::string others = view.measure.limit.empty() ? std::string() : used_limits(session, view.filter);
  if (!others.empty())
    return session.note(
        join(what, " for limit ", view.measure.limit, "; the limits that were used: ", others));
  session.note(join(what, "; --from 30d looks further back"));
  if (session.store().starts_with("dynamodb:"))
    session.note("on DynamoDB usage is counted by weir aggregate, or weir serve --aggregate: is it running?");
  session.note_empty_namespace();
}

void print_totals(Session& session, const View& view, const std::vector<UsageTotal>& totals, bool plot) {
  if (totals.empty()) return note_nothing(session, view);
  if (plot) return print_plots(session, view, totals);
  print_table(session, view, totals);
  // A single user is shown with its windows.
  if (!view.ranked || totals.size() != 1) return;
  session.out() << '\n';
  print_plot(session, view, totals.front());
}

Result<ExitCode> show_top(Session& session, const View& view, const Arguments& arguments) {
  const auto count = read_number("--top", *arguments.top, 1, static_cast<int>(maxima::top_usage));
  if (!count) return count.error();
  const auto top =
      session.existing().top_usage(view.filter, view.measure.limit, static_cast<std::size_t>(*count));
  if (!top) return top.error();
  if (session.json()) {
    session.print_json(api::to_json(std::span(*top)));
  } else if (session.csv()) {
    print_csv_titles(session.out());
    for (const UsageTotal& total : *top) {
      for (const Usage& usage : total.series) print_csv(session.out(), usage);
    }
  } else {
    print_totals(session, view, *top, arguments.plot);
  }
  return done;
}

Result<ExitCode> show_all(Session& session, const View& view, bool plot) {
  client::Target& target = session.existing();
  JsonList json(session.out(), "usage");
  if (session.csv()) print_csv_titles(session.out());
  std::map<std::pair<std::string, std::string>, UsageTotal> totals;
  const auto visit = [&](const Usage& usage) {
    if (session.json()) return json.add(api::to_json(usage));
    if (session.csv()) return print_csv(session.out(), usage);
    UsageTotal& total = totals[{usage.entity, usage.resource}];
    total.entity = usage.entity;
    total.resource = usage.resource;
    usage::add(total.limits, usage.limits);
    total.events += usage.events;
    total.series.push_back(usage);
  };
  auto listed = for_each_item([&](const Paging& paging) { return target.usage(view.filter, paging); }, visit);
  if (!listed) return listed.error();
  if (session.json()) json.end();
  if (session.json() || session.csv()) return done;
  std::vector<UsageTotal> lines;
  for (auto& [names, total] : totals) lines.push_back(std::move(total));
  print_totals(session, view, lines, plot);
  return done;
}

/// Options that do not go together.
Result<void> check_usage_options(const Session& session, const Arguments& arguments) {
  if (arguments.follow && (arguments.top || arguments.plot))
    return invalid("--follow prints what changes; leave out ", arguments.top ? "--top" : "--plot");
  if (arguments.follow && arguments.to) return invalid("--follow goes on; leave out --to");
  if (arguments.interval && !arguments.follow) return invalid("--interval is for --follow; add it");
  if (arguments.plot && (session.json() || session.csv()))
    return invalid("--plot draws for people; leave it out, or -o");
  return {};
}

}  // namespace

Result<ExitCode> usage(Session& session, const Arguments& arguments) {
  if (auto checked = check_usage_options(session, arguments); !checked) return checked.error();
  auto filter = read_usage_filter(arguments, session.now());
  if (!filter) return filter.error();
  if (arguments.follow) {
    const auto interval = read_duration("--interval", arguments.interval.value_or("2s"));
    if (!interval) return interval.error();
    if (!arguments.from) filter->from = start_of(filter->window, session.now());
    return follow_usage(session, *std::move(filter), *interval);
  }
  const View view{.filter = *filter,
                  .measure = {arguments.by.value_or("")},
                  .scale = TimeScale(*filter, session.now()),
                  .charset = charset_of(session.world().environment),
                  .ranked = arguments.top.has_value()};
  return arguments.top ? show_top(session, view, arguments) : show_all(session, view, arguments.plot);
}

}  // namespace weir::cli

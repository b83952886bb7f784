// top: the buckets that have the least left, again and again.
#include <map>
#include <sstream>

#include "api/catalog_json.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wide.h"
#include "cli/bucket_filter.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"
#include "cli/usage_chart.h"
#include "cli/words.h"
#include "store/bucket_now.h"

namespace weir::cli {
namespace {

using base::join;

constexpr std::size_t bar_width = 24;
constexpr std::size_t widest_name = 40;
/// Lines of a frame that show no bucket: the heading, the titles, and the line of the cursor.
constexpr std::size_t other_lines = 3;

/// The beginning of a text that is too long, with a mark.
std::string shortened(const std::string& text) {
  return text.size() <= widest_name ? text : text.substr(0, widest_name - 2) + "..";
}

/// Prints frames, and remembers what was consumed to show the change.
class Frames {
 public:
  Frames(Session& session, const Arguments& arguments, BucketsFilter filter, std::size_t rows)
      : session_(session),
        resource_(arguments.resource.value_or("")),
        filter_(std::move(filter)),
        rows_(rows),
        charset_(charset_of(session.world().environment)),
        redraws_(session.world().out_is_terminal && !arguments.once && !session.json()) {}

  Result<void> show() {
    const auto page = session_.existing().buckets_on(resource_, filter_, {.cursor = {}, .limit = rows_});
    if (!page) return page.error();
    session_.json() ? print_json(page->items) : print(frame(page->items));
    shown_ = true;
    session_.out().flush();
    return {};
  }

 private:
  using Consumed = std::map<std::string, Amount>;

  void print_json(const std::vector<Bucket>& buckets) const {
    auto list = base::JsonWriter::array();
    for (const Bucket& bucket : buckets) list.add(api::to_json(bucket, session_.now()));
    session_.print_json(
        base::JsonWriter::object().number("at_ms", session_.now()).raw("buckets", list.str()).str());
  }

  std::string frame(const std::vector<Bucket>& buckets) {
    std::ostringstream text;
    const char* const order = filter_.order == BucketOrder::consumed ? "most consumed" : "least left";
    text << session_.style()(Tone::heading, resource_.empty() ? "every resource" : printable(resource_))
         << ", " << order << " first, " << moment_text(session_.now()) << '\n';
    TextTable table({{"ENTITY"},
                     {"RESOURCE"},
                     {"LIMIT"},
                     {"LEFT", TextTable::Align::right},
                     {"OF", TextTable::Align::right},
                     {"%", TextTable::Align::right},
                     {join("FILL", std::string(bar_width - 4, ' '))},
                     {"CONSUMED", TextTable::Align::right},
                     {"CHANGE", TextTable::Align::right}});
    Consumed consumed;
    for (const Bucket& bucket : buckets) add_row(table, bucket, consumed);
    consumed_ = std::move(consumed);
    if (buckets.empty()) {
      text << "no bucket yet\n";
    } else {
      table.print(text, session_.style());
    }
    return std::move(text).str();
  }

  void add_row(TextTable& table, const Bucket& bucket, Consumed& consumed) {
    const Time now = session_.now();
    const BucketLimit* const limit = store::tightest(bucket, filter_.limit, now);
    if (limit == nullptr) return;
    const Amount held = store::held_at(bucket, *limit, now);
    const Amount capacity = limit->limit.capacity();
    const std::int64_t share = store::share_of(held, capacity);
    const std::string name = join(bucket.entity, " ", bucket.resource, " ", limit->name);
    consumed[name] = limit->consumed;
    std::string percent = percent_text(share);
    percent.resize(percent.size() - 2);
    table.add({{shortened(bucket.entity)},
               {shortened(bucket.resource)},
               {limit->name},
               {amount_text(held), held < Amount() ? Tone::bad : Tone::plain},
               {amount_text(capacity)},
               {std::move(percent), tone_of_share(share)},
               {bar(std::min(held, capacity).millitokens(), capacity.millitokens(), bar_width, charset_),
                tone_of_share(share)},
               {amount_text(limit->consumed)},
               {change_text(name, limit->consumed)}});
  }

  /// The consumption since the previous frame.
  std::string change_text(const std::string& name, Amount consumed) const {
    const auto before = consumed_.find(name);
    if (before == consumed_.end() || before->second == consumed) return {};
    const Amount change =
        Amount::milli(base::wrapping_sub(consumed.millitokens(), before->second.millitokens()));
    return join(change > Amount() ? "+" : "", amount_text(change));
  }

  /// On a terminal over the frame before, else below it.
  void print(const std::string& frame) const {
    std::ostream& out = session_.out();
    if (!redraws_) {
      out << (shown_ ? "\n" : "") << frame;
      return;
    }
    constexpr const char* home = "\x1b[H";
    constexpr const char* erase_line = "\x1b[K";
    constexpr const char* erase_below = "\x1b[J";
    out << home;
    for (const char c : frame) {
      if (c == '\n') out << erase_line;
      out << c;
    }
    out << erase_below;
  }

  Session& session_;
  const std::string resource_;
  const BucketsFilter filter_;
  const std::size_t rows_;
  const Charset charset_;
  const bool redraws_;
  bool shown_ = false;
  Consumed consumed_;
};

Result<std::size_t> read_rows(const Session& session, const Arguments& arguments) {
  if (arguments.rows) {
    const auto rows = read_number("--rows", *arguments.rows, 1, 1000);
    if (!rows) return rows.error();
    return static_cast<std::size_t>(*rows);
  }
  const std::size_t lines = session.world().out_is_terminal ? session.world().terminal_rows() : 24;
  return std::clamp<std::size_t>(lines, other_lines + 1, 1000) - other_lines;
}

}  // namespace

Result<ExitCode> top(Session& session, const Arguments& arguments) {
  auto filter = read_buckets_filter(arguments, BucketOrder::remaining);
  if (!filter) return filter.error();
  const auto interval = read_duration("--interval", arguments.interval.value_or("2s"));
  if (!interval) return interval.error();
  const auto rows = read_rows(session, arguments);
  if (!rows) return rows.error();
  Frames frames(session, arguments, *std::move(filter), *rows);
  bool failing = false;
  for (bool first = true;; first = false) {
    const auto shown = frames.show();
    if (!shown && (first || shown.error().code != ErrorCode::unavailable)) return shown.error();
    if (!shown && !failing) session.note(join(shown.error().message, "; trying again"));
    failing = !shown;
    if (arguments.once) return done;
    session.release_file();
    if (!session.world().wait(*interval)) return done;
  }
}

}  // namespace weir::cli

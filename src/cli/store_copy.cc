// store copy.
#include "app/store_url.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/text_table.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using app::CopyReport;
using base::join;

std::string counts_json(const app::CountsByKind& counts) {
  auto json = base::JsonWriter::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::string name(store::copied_kinds[i]);
    if (const std::size_t space = name.find(' '); space != std::string::npos) name[space] = '_';
    json.raw(name, std::to_string(counts[i]));
  }
  return json.str();
}

std::string copied_json(const CopyReport& report) {
  auto differences = base::JsonWriter::array();
  for (const std::string& one : report.differences) differences.add(base::json_string(one));
  return base::JsonWriter::object()
      .raw("resumed", report.resumed ? "true" : "false")
      .raw("copied", counts_json(report.copied))
      .raw("left_out", counts_json(report.left_out))
      .raw("same", report.differences.empty() ? "true" : "false")
      .raw("differences", differences.str())
      .str();
}

void print_copied(const Session& session, const CopyReport& report) {
  using enum TextTable::Align;
  TextTable table({{"KIND"}, {"RECORDS", right}});
  for (std::size_t i = 0; i < report.copied.size(); ++i)
    table.add({{std::string(store::copied_kinds[i])}, {std::to_string(report.copied[i])}});
  table.print(session.out(), session.style());
  for (const std::string& one : report.differences)
    session.out() << session.style()(Tone::bad, "different") << ": " << printable(one) << '\n';
  if (report.differences.empty())
    session.out() << session.style()(Tone::good, "same") << ": source and target have the same content\n";
}

}  // namespace

Result<ExitCode> store_copy(Session& session, const Arguments& arguments) {
  if (arguments.common.store)
    return base::invalid("store copy takes --from URL and --to URL in place of --store");
  app::CopyOptions options;
  options.name_space = arguments.common.name_space.value_or("");
  Progress copying(session.world(), "copying, records:");
  Progress checking(session.world(), "comparing, records:");
  options.progress = [&](const app::CopyProgress& so_far) {
    if (so_far.checking) copying.clear();
    (so_far.checking ? checking : copying).count(so_far.records);
  };
  auto report = session.world().copy(*arguments.copy_from, *arguments.copy_to, options);
  if (!report) return report.error();
  copying.clear();
  checking.clear();
  for (std::size_t i = 0; i < report->left_out.size(); ++i) {
    if (report->left_out[i] == 0) continue;
    session.warn(join(std::to_string(report->left_out[i]), " ", store::copied_kinds[i],
                      " were not copied: the target cannot keep them, since an earlier version of weir wrote "
                      "them without the entity that they belong to"));
  }
  session.json() ? session.print_json(copied_json(*report)) : print_copied(session, *report);
  if (report->differences.empty()) return done;
  session.note(
      "the source or the target was in use meanwhile; stop what uses them, empty the target and copy "
      "again");
  return failure;
}

}  // namespace weir::cli

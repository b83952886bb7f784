// bench --cost.
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read.h"
#include "cli/text_table.h"

namespace weir::cli {
namespace {

std::string rounded(double number, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string cost_json(const app::CostLine& line) {
  return base::JsonWriter::object()
      .text("decision", line.what)
      .raw("requests", rounded(line.requests, "%.3f"))
      .raw("read_units", rounded(line.read_units, "%.3f"))
      .raw("write_units", rounded(line.write_units, "%.3f"))
      .raw("dollars_per_million", rounded(line.per_million(), "%.3f"))
      .text("designed", line.designed)
      .str();
}

}  // namespace

Result<ExitCode> bench(Session& session, const Arguments& arguments) {
  if (!arguments.cost) return base::invalid("say what to measure: --cost");
  const auto lines = session.world().measure(session.store());
  if (!lines) return lines.error();
  using enum TextTable::Align;
  TextTable table({{"DECISION"},
                   {"REQUESTS", right},
                   {"READS", right},
                   {"WRITES", right},
                   {"$/MILLION", right},
                   {"DESIGN"}});
  JsonList json(session.out(), "costs");
  for (const app::CostLine& line : *lines) {
    if (session.json()) {
      json.add(cost_json(line));
    } else {
      table.add({{line.what},
                 {rounded(line.requests, "%.2f")},
                 {rounded(line.read_units, "%.2f")},
                 {rounded(line.write_units, "%.2f")},
                 {rounded(line.per_million(), "%.2f")},
                 {line.designed}});
    }
  }
  session.json() ? json.end() : table.print(session.out(), session.style());
  return done;
}

}  // namespace weir::cli

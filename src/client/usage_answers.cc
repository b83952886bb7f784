// Answers about usage.
#include "base/rfc3339.h"
#include "client/answers.h"
#include "client/reading.h"

namespace weir::client {
namespace {

std::vector<UsedAmount> read_amounts(Answer& answer, json::Value& value, std::string_view of) {
  std::vector<UsedAmount> amounts;
  answer.members(value, of, [&](std::string_view name, json::Value& amount) {
    amounts.push_back({std::string(name), answer.sum(amount, name)});
  });
  return amounts;
}

UsageWindow read_window(Answer& answer, json::Value& value, std::string_view of) {
  const std::string name = answer.text(value, of);
  for (const UsageWindow window : {UsageWindow::hour, UsageWindow::day}) {
    if (name == name_of(window)) return window;
  }
  answer.malform(base::join(base::quoted(name), " is no window"));
  return UsageWindow::hour;
}

Time read_start(Answer& answer, json::Value& value, std::string_view of) {
  const std::string text = answer.text(value, of);
  const auto start = base::parse_rfc3339(text);
  if (!start) answer.malform(base::join(base::quoted(text), " is no moment"));
  return start.value_or(0);
}

/// Reads a member that a row and a total both have.
template <class Row>
void read_common(Answer& answer, Row& row, std::string_view key, json::Value& value) {
  if (key == "entity") row.entity = answer.text(value, key);
  if (key == "resource") row.resource = answer.text(value, key);
  if (key == "limits") row.limits = read_amounts(answer, value, key);
  if (key == "events") row.events = answer.count(value, key);
}

Usage read_usage(Answer& answer, json::Value& element) {
  Usage usage;
  answer.members(element, "usage", [&](std::string_view key, json::Value& value) {
    read_common(answer, usage, key, value);
    if (key == "window") usage.window = read_window(answer, value, key);
    if (key == "start") usage.start = read_start(answer, value, key);
  });
  return usage;
}

UsageTotal read_total(Answer& answer, json::Value& element) {
  UsageTotal total;
  answer.members(element, "top", [&](std::string_view key, json::Value& value) {
    read_common(answer, total, key, value);
    if (key == "series") {
      answer.elements(value, key, Answer::most_elements,
                      [&](json::Value& one) { total.series.push_back(read_usage(answer, one)); });
    }
  });
  return total;
}

}  // namespace

Result<Page<Usage>> read_usage_page(std::string_view json) {
  return read_page<Usage>(json, "usage", read_usage);
}

Result<std::vector<UsageTotal>> read_top_usage(std::string_view json) {
  auto page = read_page<UsageTotal>(json, "top", read_total);
  if (!page) return page.error();
  return std::move(page->items);
}

}  // namespace weir::client

#include "cli/text_table.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/words.h"

namespace weir::cli {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(column.title.size());
}

void TextTable::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i].text = printable(row[i].text);
    widths_[i] = std::max(widths_[i], cli::columns(row[i].text));
  }
  rows_.push_back(std::move(row));
}

void TextTable::print(std::ostream& out, const Style& style) {
  if (!titled_) {
    std::vector<Cell> titles;
    for (const Column& column : columns_) titles.push_back({column.title, Tone::heading});
    print_row(out, style, titles);
    titled_ = true;
  }
  for (const auto& row : rows_) print_row(out, style, row);
  rows_.clear();
}

void TextTable::print_row(std::ostream& out, const Style& style, const std::vector<Cell>& row) const {
  std::string line;
  std::size_t gap = 0;  // delayed, so that no line ends in spaces
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string& text = row[i].text;
    const std::size_t padding = widths_[i] - cli::columns(text);
    if (columns_[i].align == Align::right) gap += padding;
    if (!text.empty()) {
      line.append(gap, ' ').append(style(row[i].tone, text));
      gap = 0;
    }
    if (columns_[i].align == Align::left) gap += padding;
    gap += 2;
  }
  out << line << '\n';
}

}  // namespace weir::cli

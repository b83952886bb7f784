// Aligned columns.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/style.h"

namespace weir::cli {

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

/// Collects rows and prints them in columns. Can be printed in parts: columns then only grow.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);

  /// As many cells as there are columns. Control characters are replaced for the terminal.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  /// Prints and drops the rows so far; the titles come before the first.
  void print(std::ostream& out, const Style& style);

 private:
  void print_row(std::ostream& out, const Style& style, const std::vector<Cell>& row) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
  bool titled_ = false;
};

}  // namespace weir::cli

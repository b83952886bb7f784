// Collects the mistakes in a file, so that all can be fixed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::config {

/// A place in a file, counted from 1.
struct FilePosition {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend auto operator<=>(const FilePosition&, const FilePosition&) = default;
};

/// The first few mistakes, and the number of all. Only the first at each place counts: the others come from
/// aliases that repeat it.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(FilePosition place, std::string message);
  bool empty() const { return listed_.empty(); }
  /// The mistakes in the order of the file, a line each. Requires at least one.
  Error error() const;

 private:
  struct Problem {
    FilePosition place;
    std::string message;
  };

  std::string file_;
  std::vector<Problem> listed_;
  std::size_t more_ = 0;
};

}  // namespace weir::config

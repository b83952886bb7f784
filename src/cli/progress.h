// How far long work is, on a terminal; nothing elsewhere.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/world.h"

namespace weir::cli {

/// One line on stderr that moves, and that is gone when the work is done.
class Progress {
 public:
  Progress(const World& world, std::string title)
      : err_(world.err), shown_(world.err_is_terminal), title_(std::move(title)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Writes only where the percentage has changed, so that it costs nothing to call often.
  void show(std::size_t finished, std::size_t of);
  void clear();

 private:
  std::ostream& err_;
  bool shown_;
  std::string title_;
  std::size_t percent_ = static_cast<std::size_t>(-1);
};

}  // namespace weir::cli

// The progress of long work, shown on a terminal only.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/world.h"

namespace weir::cli {

/// One line on stderr that is updated, and erased when the work is done.
class Progress {
 public:
  Progress(const World& world, std::string title)
      : err_(world.err), shown_(world.err_is_terminal), title_(std::move(title)) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Writes only if the percentage has changed, so frequent calls are cheap.
  void show(std::size_t finished, std::size_t of);
  /// The same where the end is not known: writes how many are finished, now and then.
  void count(std::size_t finished);
  void clear();

 private:
  std::ostream& err_;
  bool shown_;
  std::string title_;
  std::size_t shown_step_ = static_cast<std::size_t>(-1);
};

}  // namespace weir::cli

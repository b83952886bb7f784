#include "cli/progress.h"

#include <algorithm>

namespace weir::cli {

void Progress::show(std::size_t finished, std::size_t of) {
  if (!shown_ || of == 0) return;
  const std::size_t percent = std::min(finished, of) * 100 / of;
  if (percent == shown_step_) return;
  shown_step_ = percent;
  err_ << "\r\x1b[K" << title_ << ' ' << percent << " %" << std::flush;
}

void Progress::count(std::size_t finished) {
  constexpr std::size_t step = 1000;
  if (!shown_ || finished / step == shown_step_) return;
  shown_step_ = finished / step;
  err_ << "\r\x1b[K" << title_ << ' ' << finished << std::flush;
}

void Progress::clear() {
  if (shown_step_ == static_cast<std::size_t>(-1)) return;
  err_ << "\r\x1b[K" << std::flush;
  shown_step_ = static_cast<std::size_t>(-1);
}

}  // namespace weir::cli

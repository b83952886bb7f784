#include "cli/progress.h"

#include <algorithm>

namespace weir::cli {

void Progress::show(std::size_t finished, std::size_t of) {
  if (!shown_ || of == 0) return;
  const std::size_t percent = std::min(finished, of) * 100 / of;
  if (percent == percent_) return;
  percent_ = percent;
  err_ << "\r\x1b[K" << title_ << ' ' << percent << " %" << std::flush;
}

void Progress::clear() {
  if (percent_ == static_cast<std::size_t>(-1)) return;
  err_ << "\r\x1b[K" << std::flush;
  percent_ = static_cast<std::size_t>(-1);
}

}  // namespace weir::cli

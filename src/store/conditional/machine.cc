#include "store/conditional/machine.h"

#include <algorithm>

namespace weir::conditional {

void Snapshot::see(std::size_t bucket, const Image& image) {
  if (!image.known) return;
  images_[bucket] = image;
  current_[bucket] = true;
  seen_here_[bucket] = true;
  exact_[bucket] = true;
}

void Snapshot::remember(std::span<const Image> images) {
  for (std::size_t i = 0; i < std::min(images.size(), size()); ++i) {
    if (images[i].known) images_[i] = images[i];
  }
}

void Snapshot::outdate() {
  std::fill(current_.begin(), current_.end(), false);
  std::fill(exact_.begin(), exact_.end(), false);
}

void Snapshot::take(const Event& event, const Transaction& sent) {
  outdate();
  if (event.kind == Event::Kind::applied) {
    // A transaction does not return the new items. They are computed here; concurrent charges that commute
    // with ours are missing.
    for (const Write& write : sent.writes) {
      Image& image = images_[write.bucket];
      if (!image.known) continue;
      apply(image.item, write);
      seen_here_[write.bucket] = true;
      exact_[write.bucket] = write.tells_all();
    }
  }
  for (std::size_t i = 0; i < std::min(event.images.size(), size()); ++i) see(i, event.images[i]);
}

bool Snapshot::complete() const {
  return std::all_of(images_.begin(), images_.end(), [](const Image& image) { return image.known; });
}

}  // namespace weir::conditional

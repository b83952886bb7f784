#include "weir/report.h"

namespace weir {

LimitStatus LimitReport::operator[](std::size_t index) const {
  const Line& line = lines_[index];
  const Bucket& bucket = buckets_[line.bucket];
  return {.entity = text(bucket.entity_at, bucket.entity_size),
          .resource = text(std::size_t{bucket.entity_at} + bucket.entity_size, resource_size_),
          .name = text(line.name_at, line.name_size),
          .capacity = Amount::milli(line.capacity),
          .burst = Amount::milli(line.burst),
          .requested = Amount::milli(line.requested),
          .remaining = Amount::milli(line.remaining),
          .exceeded = line.exceeded,
          .retry_after = line.wait == never_fits ? std::optional<std::chrono::milliseconds>()
                                                 : std::chrono::milliseconds(line.wait),
          .source = bucket.source,
          .owner = bucket.owner};
}

std::optional<LimitStatus> LimitReport::find(std::string_view name) const {
  for (const LimitStatus status : *this) {
    if (status.name == name) return status;
  }
  return std::nullopt;
}

}  // namespace weir

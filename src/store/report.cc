#include "weir/report.h"

namespace weir {

LimitStatus LimitReport::operator[](std::size_t index) const {
  const Line& line = lines_[index];
  const Bucket& bucket = buckets_[line.bucket];
  const auto text = [this](std::size_t at, std::size_t size) { return std::string_view(text_.data() + at, size); };
  return {.entity = text(bucket.entity_at, bucket.entity_size),
          .resource = text(0, resource_size_),
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

void LimitReport::clear() {
  lines_.clear();
  buckets_.clear();
  text_.clear();
  resource_size_ = 0;
}

void LimitReport::set_resource(std::string_view resource) {
  text_.append(resource.data(), resource.size());
  resource_size_ = static_cast<std::uint16_t>(resource.size());
}

std::uint16_t LimitReport::add_bucket(std::string_view entity, Source source, Owner owner, std::string_view names) {
  const auto entity_at = static_cast<std::uint16_t>(text_.size());
  text_.append(entity.data(), entity.size());
  buckets_.push_back({entity_at, static_cast<std::uint16_t>(entity.size()), source, owner});
  const auto names_at = static_cast<std::uint16_t>(text_.size());
  text_.append(names.data(), names.size());
  return names_at;
}

}  // namespace weir

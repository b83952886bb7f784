#include "weir/report.h"

#include <algorithm>

namespace weir {

LimitStatus LimitReport::operator[](std::size_t index) const {
  const Line& line = lines()[index];
  const Bucket& bucket = buckets()[bucket_of(index)];
  const char* const entity = texts() + bucket.text_at;
  const char* const resource = entity + bucket.entity_size;
  return {.entity = {entity, bucket.entity_size},
          .resource = {resource, resource_size_},
          .name = {names_of(bucket) + line.name.at, line.name.size},
          .capacity = Amount::milli(line.capacity),
          .burst = Amount::milli(line.burst),
          .requested = Amount::milli(line.requested),
          .remaining = Amount::milli(line.remaining),
          .remaining_at_most = bucket.remaining_is_upper_bound,
          .exceeded = line.exceeded(),
          .retry_after = line.wait == never_fits ? std::optional<std::chrono::milliseconds>()
                                                 : std::chrono::milliseconds(line.wait),
          .window = std::chrono::seconds(line.window),
          .source = line.name.source().value_or(bucket.source),
          .owner = bucket.owner,
          .mode = line.name.mode(),
          .kind = line.name.kind(),
          .would_refuse = (bucket.named >> (16U + index - bucket.first_line) & 1U) != 0,
          .version = bucket.version};
}

std::optional<LimitStatus> LimitReport::find(std::string_view name) const {
  for (const LimitStatus status : *this) {
    if (status.name == name) return status;
  }
  return std::nullopt;
}

void LimitReport::mark_remaining_at_most() {
  Bucket* const buckets = overflow_ == nullptr ? buckets_ : overflow_->buckets.data();
  buckets[bucket_count_ - 1].remaining_is_upper_bound = true;
}

void LimitReport::mark_would_refuse(std::size_t limit, std::int64_t requested) {
  Bucket& bucket = (overflow_ == nullptr ? buckets_ : overflow_->buckets.data())[bucket_count_ - 1];
  bucket.named |= 1U << (16U + limit);
  (overflow_ == nullptr ? lines_ : overflow_->lines.data())[bucket.first_line + limit].requested = requested;
}

std::size_t LimitReport::bucket_of(std::size_t line) const {
  std::size_t bucket = 0;
  while (bucket + 1 < bucket_count_ && buckets()[bucket + 1].first_line <= line) ++bucket;
  return bucket;
}

LimitReport::Room LimitReport::overflow(std::size_t count, std::size_t text_size) {
  if (overflow_ == nullptr) {
    overflow_ = new Overflow{
        {lines_, lines_ + line_count_}, {buckets_, buckets_ + bucket_count_}, {text_, text_size_}};
  }
  overflow_->lines.resize(line_count_ + count);
  overflow_->buckets.resize(bucket_count_ + std::size_t{1});
  overflow_->text.resize(text_size);
  return {overflow_->lines.data(), overflow_->buckets.data(), overflow_->text.data()};
}

void LimitReport::free_overflow() {
  delete overflow_;
  overflow_ = nullptr;
}

void LimitReport::copy(const LimitReport& other) {
  Overflow* const overflow = other.overflow_ == nullptr ? nullptr : new Overflow(*other.overflow_);
  free_overflow();
  overflow_ = overflow;
  text_size_ = other.text_size_;
  resource_size_ = other.resource_size_;
  line_count_ = other.line_count_;
  bucket_count_ = other.bucket_count_;
  if (overflow_ != nullptr) return;
  std::copy_n(other.buckets_, bucket_count_, buckets_);
  std::copy_n(other.lines_, line_count_, lines_);
  std::copy_n(other.text_, text_size_, text_);
}

}  // namespace weir

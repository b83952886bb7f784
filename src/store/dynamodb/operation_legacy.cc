// Legacy items in the course of an operation.
#include <algorithm>

#include "base/text.h"
#include "store/dynamodb/operation.h"

namespace weir::dynamodb {

void Operation::read_to_show() {
  to_show_ = true;
  read_all();
}

bool Operation::wait_for_legacy(const conditional::Transaction& transaction, Time now) {
  const auto creates = std::find_if(
      transaction.writes.begin(), transaction.writes.end(), [&](const conditional::Write& write) {
        return write.item && !buckets_in_chain_[write.bucket].without_legacy && context_.may_have_legacy();
      });
  if (creates == transaction.writes.end()) return false;
  held_back_ = transaction;
  held_back_at_ = now;
  legacy_step_ = Legacy::finding;
  find_legacy(creates->bucket);
  return true;
}

void Operation::find_legacy(std::size_t place) {
  legacy_place_ = place;
  legacy_.clear();
  repeatable = true;
  const BucketName& name = buckets_in_chain_[place].name;
  submit(query(context_.table, {.pk = name.key().pk, .begins_with = legacy_prefix(name.resource)}));
}

void Operation::take_legacy(const aws::DynamoAnswer& answer) {
  if (legacy_step_ == Legacy::converting) return read_again();
  if (legacy_step_ == Legacy::reading_again) {
    // As if another process had just created the buckets.
    legacy_step_ = Legacy::no;
    event_.kind = conditional::Event::Kind::failed;
    return take_items(answer);
  }
  for (const Item& item : answer.items) {
    auto limit = read_legacy(item);
    if (!limit) return finish(context_.report(limit.error()));
    if (limit->expires_at > context_.now()) legacy_.push_back(*std::move(limit));
  }
  if (!answer.last_key.empty()) {
    const BucketName& name = buckets_in_chain_[legacy_place_].name;
    return submit(query(context_.table, {.pk = name.key().pk,
                                         .begins_with = legacy_prefix(name.resource),
                                         .after = key_of(answer.last_key).sk}));
  }
  found_legacy();
}

void Operation::found_legacy() {
  ChainBucket& place = buckets_in_chain_[legacy_place_];
  place.without_legacy = legacy_.empty();
  if (legacy_step_ == Legacy::showing) {
    if (!legacy_.empty())
      event_.images[legacy_place_] = conditional::Image::of({merged(legacy_, 0), std::nullopt});
    return show_next_legacy(legacy_place_ + 1);
  }
  if (!legacy_.empty()) return convert_legacy();
  legacy_step_ = Legacy::no;
  write(std::exchange(held_back_, {}), held_back_at_);
}

void Operation::convert_legacy() {
  legacy_step_ = Legacy::converting;
  const std::uint64_t generation = (context_.entropy.next() >> 11U) | 1U;
  const auto writes =
      conversion(buckets_in_chain_[legacy_place_].name, legacy_, merged(legacy_, generation), context_.now());
  repeatable = true;
  submit(transaction(context_.table, writes, base::join(std::to_string(context_.entropy.next()), "-l")));
}

void Operation::show_next_legacy(std::size_t place) {
  const Time now = context_.now();
  for (; place < buckets_in_chain_.size(); ++place) {
    const auto& item = event_.images[place].item;
    if (item && item->expires_at > now) continue;
    legacy_step_ = Legacy::showing;
    return find_legacy(place);
  }
  legacy_step_ = Legacy::no;
  const conditional::Event event = std::move(event_);
  on_event(event);
}

void Operation::read_again() {
  legacy_step_ = Legacy::reading_again;
  read_all();
}

}  // namespace weir::dynamodb

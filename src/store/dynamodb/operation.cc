#include "store/dynamodb/operation.h"

#include <algorithm>

#include "base/text.h"
#include "store/dynamodb/blocking_calls.h"

namespace weir::dynamodb {

using conditional::Event;
using store::Progress;
using Kind = aws::DynamoFailure::Kind;

void Operation::add_bucket(limits::ResolutionRef resolution) {
  ChainBucket& place = buckets_in_chain_.emplace_back();
  place.link = links_.size() - 1;
  place.name = {name_space_, links_.back(), resource_};
  place.id = bucket_id(name_space_, links_.back(), resource_);
  place.parent = resolution->parent;
  place.resolution = std::move(resolution);
}

conditional::BucketPlan Operation::plan_of(std::size_t at) const {
  const ChainBucket& place = buckets_in_chain_[at];
  return {.resolution = place.resolution,
          .resolved_after = context_.memory.resolved_after(place.id, place.resolution->levels),
          .charges = {},
          .generation = 0,
          .entity = place.link,
          .parent = place.parent};
}

std::vector<conditional::Image> Operation::images() {
  std::vector<conditional::Image> images;
  for (ChainBucket& place : buckets_in_chain_) {
    Remembered known = context_.memory.image(place.id);
    place.seen_at = known.seen_at;
    images.push_back(std::move(known.image));
  }
  return images;
}

void Operation::submit(Request request_of_it) {
  operation = std::move(request_of_it.operation);
  request = std::move(request_of_it.json);
  asked_at_ = context_.now();
  context_.send(*this);
}

void Operation::read_all() {
  std::vector<Key> keys;
  for (const ChainBucket& place : buckets_in_chain_) keys.push_back(place.name.key());
  if (!marker_key_.pk.empty()) keys.push_back(marker_key_);
  event_ = {};
  event_.kind = Event::Kind::seen;
  event_.images.assign(buckets_in_chain_.size(), conditional::Image::absent());
  if (!marker_key_.pk.empty()) event_.marker = conditional::Seen<conditional::Marker>::absent();
  reading_ = true;
  repeatable = true;
  submit(batch_get(context_.table, keys));
}

void Operation::write(const conditional::Transaction& transaction, Time now) {
  if (wait_for_legacy(transaction, now)) return;
  std::vector<ItemWrite> writes;
  sent_to_.clear();
  // At most one copy of such a write can meet its condition.
  bool happens_once = transaction.writes.empty();
  for (const conditional::Write& write : transaction.writes) {
    writes.push_back(render(write, buckets_in_chain_[write.bucket].name, now));
    sent_to_.push_back(write.bucket);
    happens_once = happens_once || write.path == conditional::Write::Path::repair;
  }
  sent_marker_.reset();
  if (transaction.marker) {
    sent_marker_ = transaction.marker->next;
    writes.push_back(render(*transaction.marker, marker_key_, now));
    sent_to_.push_back(to_marker);
  }
  for (const conditional::LinkCheck& check : transaction.links) {
    writes.push_back(render(check, meta_key(name_space_, links_[check.entity])));
    sent_to_.push_back(to_link);
  }
  send_writes(writes, happens_once, now);
}

void Operation::send_writes(const std::vector<ItemWrite>& writes, bool happens_once, Time now) {
  reading_ = false;
  if (writes.size() == 1) {
    repeatable = happens_once;
    return submit(single_write(context_.table, writes[0]));
  }
  repeatable = true;
  const std::uint64_t high = context_.entropy.next();
  submit(dynamodb::transaction(context_.table, writes,
                               base::join(std::to_string(high), "-", std::to_string(now)).substr(0, 36)));
}

Result<void> Operation::take_bucket(std::size_t place, const Item& item, Event& event) {
  auto read = read_bucket(item);
  if (!read) return context_.report(read.error());
  event.images[place] = conditional::Image::of(std::move(read->state));
  return {};
}

Result<void> Operation::take(const Item& item, Event& event) {
  const Key key = key_of(item);
  if (key == marker_key_) {
    auto marker = read_marker(item);
    if (!marker) return context_.report(marker.error());
    // A marker past its deadline counts as absent; its lease cannot be changed by then.
    if (marker->deadline > context_.now()) event.marker = {true, *std::move(marker)};
    if (event.marker.item) context_.memory.remember_marker(marker_key_, *event.marker.item);
    return {};
  }
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    if (buckets_in_chain_[i].name.key() == key) return take_bucket(i, item, event);
  }
  return {};
}

void Operation::on_answer(const aws::DynamoAnswer& answer) {
  if (legacy_step_ != Legacy::no) return take_legacy(answer);
  if (reading_) return take_items(answer);
  if (sent_marker_) context_.memory.remember_marker(marker_key_, *std::exchange(sent_marker_, {}));
  Event event;
  event.kind = Event::Kind::applied;
  event.images.resize(buckets_in_chain_.size());
  if (answer.item && sent_to_.size() == 1 && sent_to_[0] < buckets_in_chain_.size()) {
    // The write has happened.
    if (auto taken = take_bucket(sent_to_[0], *answer.item, event); !taken)
      return finish(Error{ErrorCode::outcome_unknown, taken.error().message});
  }
  on_event(event);
}

void Operation::take_items(const aws::DynamoAnswer& answer) {
  for (const Item& item : answer.items) {
    if (auto taken = take(item, event_); !taken) return finish(taken.error());
  }
  if (!answer.unprocessed.empty()) {
    std::vector<Key> keys;
    for (const Item& key : answer.unprocessed) keys.push_back(key_of(key));
    return submit(batch_get(context_.table, keys));
  }
  if (to_show_ && context_.may_have_legacy()) return show_next_legacy(0);
  const Event event = std::move(event_);
  on_event(event);
}

/// Takes the items whose conditions did not hold.
Result<void> Operation::take_failure(const aws::DynamoFailure& failure, Event& event) {
  const auto see = [&](std::size_t at, const std::optional<Item>& item) -> Result<void> {
    const std::size_t place = sent_to_[at];
    if (place == to_link) {
      event.link_failed = true;
      return {};
    }
    if (place != to_marker) {
      event.images[place] = conditional::Image::absent();
      return item ? take_bucket(place, *item, event) : Result<void>();
    }
    event.marker = conditional::Seen<conditional::Marker>::absent();
    return item ? take(*item, event) : Result<void>();
  };
  if (failure.reasons.empty()) return sent_to_.size() == 1 ? see(0, failure.item) : Result<void>();
  for (std::size_t i = 0; i < std::min(failure.reasons.size(), sent_to_.size()); ++i) {
    if (failure.reasons[i].code != "ConditionalCheckFailed") continue;
    if (auto seen = see(i, failure.reasons[i].item); !seen) return seen;
  }
  return {};
}

void Operation::on_error(const aws::DynamoFailure& failure) {
  Event event;
  event.images.resize(buckets_in_chain_.size());
  // Another process has converted it, or is about to.
  const bool overtaken = failure.kind == Kind::condition || failure.kind == Kind::conflict;
  if (legacy_step_ == Legacy::converting && overtaken) return read_again();
  if (reading_ || legacy_step_ != Legacy::no) return finish(error_of_read(failure));
  switch (failure.kind) {
    case Kind::condition:
      event.kind = Event::Kind::failed;
      if (auto taken = take_failure(failure, event); !taken) return finish(taken.error());
      break;
    case Kind::conflict:
      event.kind = Event::Kind::not_applied;
      break;
    case Kind::unknown:
      event.kind = Event::Kind::unknown;
      break;
    default:
      return finish(aws::error_of(failure));
  }
  on_event(event);
}

void Operation::finish(Result<Progress> result) {
  if (!result && maybe_written() && result.error().code != ErrorCode::outcome_unknown) {
    result = base::error(ErrorCode::outcome_unknown,
                         "DynamoDB may or may not have done it: ", result.error().message);
  }
  context_.counts.spend(purpose(result && *result == Progress::decided), spent);
  const auto done = done_;
  store::Executor* const executor = executor_;
  delete this;
  store::complete(executor, done, std::move(result));
}

void Operation::remember(const conditional::Snapshot& snapshot) {
  for (std::size_t i = 0; i < buckets_in_chain_.size(); ++i) {
    conditional::Image image = snapshot[i];
    if (!image.known) continue;
    // As stored in the table, in whole seconds.
    if (image.item && image.item->expires_at != bucket::never)
      image.item->expires_at = to_ttl(image.item->expires_at) * 1000;
    const Time seen_at = snapshot.seen_here(i) ? asked_at_ : buckets_in_chain_[i].seen_at;
    context_.memory.remember(buckets_in_chain_[i].id, {std::move(image), seen_at});
  }
}

void Operation::distrust(std::size_t place, std::int64_t version) {
  context_.memory.distrust(buckets_in_chain_[place].id, version);
}

void Operation::distrust_chain() {
  for (const std::string_view entity : links_) context_.memory.distrust({name_space_, entity, resource_}, 0);
}

void Operation::show(decision::Chain& chain, decision::Link& link, const bucket::State* state, Time now) {
  chain.claim(link, state != nullptr ? std::optional(*state) : std::nullopt, now);
}

}  // namespace weir::dynamodb

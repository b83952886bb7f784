#include "limiter/waiting_queues.h"

#include <algorithm>

#include "base/text.h"

namespace weir::limiter {

/// A name cannot contain a line feed.
std::string WaitingQueues::bucket_of(std::string_view name_space, std::string_view entity,
                                     std::string_view resource) {
  return base::join(name_space, "\n", entity, "\n", resource);
}

WaitingQueues::Joined WaitingQueues::join(Place& place, const std::string& bucket, Time deadline) {
  place.hurries_ = closed_;
  if (size_ >= bounds_.in_all) return Joined::full;
  Queue& queue = queues_[bucket];
  if (queue.size >= bounds_.of_a_bucket) return Joined::full;
  if (queue.size == 0) queue.bucket = bucket;
  place.queue_ = &queue;
  place.before_ = queue.last;
  place.behind_ = nullptr;
  place.deadline_ = deadline;
  place.number_ = ++arrivals_;
  place.rests_ = false;
  place.nudged_ = false;
  (queue.last == nullptr ? queue.first : queue.last->behind_) = &place;
  queue.last = &place;
  ++queue.size;
  ++size_;
  return is_first(place) ? Joined::first : Joined::behind;
}

void WaitingQueues::rest(Place& place, Time now, std::optional<Time> retry_at, Woken& woken) {
  if (place.hurries_) return wake(place, Event::timeout, woken);
  // It became the first while it was busy, or was nudged meanwhile.
  if (is_first(place) && (!retry_at || place.nudged_)) return wake(place, Event::turn, woken);
  place.wakes_at_ = is_first(place) ? std::min(*retry_at, place.deadline_) : place.deadline_;
  place.event_ = is_first(place) && *retry_at <= place.deadline_ ? Event::turn : Event::timeout;
  if (place.wakes_at_ <= now) return wake(place, place.event_, woken);
  place.rests_ = true;
  resting_.emplace(std::pair(place.wakes_at_, place.number_), &place);
}

void WaitingQueues::wake(Place& place, Event event, Woken& woken) {
  if (place.rests_) resting_.erase({place.wakes_at_, place.number_});
  place.rests_ = false;
  place.nudged_ = false;
  place.event_ = event;
  woken.push_back(&place);
}

void WaitingQueues::leave(Place& place, Woken& woken) {
  if (place.queue_ == nullptr) return;
  Queue& queue = *std::exchange(place.queue_, nullptr);
  if (place.rests_) resting_.erase({place.wakes_at_, place.number_});
  place.rests_ = false;
  const bool was_first = is_first(place);
  (place.before_ == nullptr ? queue.first : place.before_->behind_) = place.behind_;
  (place.behind_ == nullptr ? queue.last : place.behind_->before_) = place.before_;
  --size_;
  if (--queue.size == 0) {
    // A copy: erasing by a reference into the element would read it while it is destroyed.
    const std::string bucket = queue.bucket;
    queues_.erase(bucket);
    return;
  }
  // A first one that is busy sees its place when it rests.
  if (was_first && queue.first->rests_) wake(*queue.first, Event::turn, woken);
}

void WaitingQueues::hurry(Place& place, Woken& woken) {
  place.hurries_ = true;
  if (place.rests_) wake(place, Event::timeout, woken);
}

void WaitingQueues::close(Woken& woken) {
  closed_ = true;
  for (auto& [bucket, queue] : queues_) {
    for (Place* place = queue.first; place != nullptr; place = place->behind_) hurry(*place, woken);
  }
}

void WaitingQueues::nudge(std::string_view name_space, std::string_view resource, Woken& woken) {
  const std::string start = base::join(name_space, "\n");
  const std::string end = base::join("\n", resource);
  for (auto& [bucket, queue] : queues_) {
    if (!bucket.starts_with(start) || (!resource.empty() && !bucket.ends_with(end))) continue;
    Place& first = *queue.first;
    if (first.rests_) {
      wake(first, Event::turn, woken);
    } else {
      first.nudged_ = true;
    }
  }
}

void WaitingQueues::advance(Time now, Woken& woken) {
  while (!resting_.empty() && resting_.begin()->first.first <= now) {
    Place& place = *resting_.begin()->second;
    wake(place, place.event_, woken);
  }
}

std::optional<Time> WaitingQueues::next() const {
  if (resting_.empty()) return std::nullopt;
  return resting_.begin()->first.first;
}

bool WaitingQueues::is_behind_others(const Place& place, const std::string& bucket) const {
  return place.queue_ != nullptr ? !is_first(place) : queues_.contains(bucket);
}

std::optional<Time> WaitingQueues::first_tries_at(const std::string& bucket) const {
  const auto found = queues_.find(bucket);
  if (found == queues_.end() || !found->second.first->rests_) return std::nullopt;
  return found->second.first->wakes_at_;
}

}  // namespace weir::limiter

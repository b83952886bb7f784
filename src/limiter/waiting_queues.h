// The queues of requests that wait for their bucket to refill: one for each entity and resource, first come
// first served. A state machine without I/O: the caller passes in the time, and gets the requests to wake.
//
//     join()      The request queues behind the others of its bucket. It is now busy: a decision on it is in
//                 progress.
//     rest()      The request has nothing to do. It is woken for its turn, when it is the first and its wait
//                 is over, and at its deadline; then it is busy again.
//     leave()     The request has its answer. The next request of the bucket has its turn.
//     nudge()     Limits, rules or balances have changed, so that the moments that refusals promised are out
//                 of date. The first request of each queue has its turn.
//
// Only the first request of a bucket may be charged, so that no request behind it takes what it waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/maxima.h"
#include "weir/clock.h"

namespace weir::limiter {

struct WaitingBounds {
  std::size_t of_a_bucket = maxima::waiters_of_a_bucket;
  std::size_t in_all = maxima::waiters;
};

/// Not safe for use by several threads at once.
class WaitingQueues {
 public:
  enum class Joined : std::uint8_t {
    first,   ///< it may try at once
    behind,  ///< others came before it
    full,    ///< it did not join
  };
  enum class Event : std::uint8_t {
    turn,     ///< it may try
    timeout,  ///< its deadline has passed, or it was told to hurry
  };

  class Place;
  /// The requests that wait for one bucket.
  struct Queue {
    std::string bucket;
    Place* first = nullptr;
    Place* last = nullptr;
    std::size_t size = 0;
  };

  /// A request in a queue. Must leave before it is destroyed.
  class Place {
   public:
    Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    Time deadline() const { return deadline_; }
    /// Why it was woken.
    Event event() const { return event_; }

   protected:
    ~Place() = default;

   private:
    friend class WaitingQueues;
    Queue* queue_ = nullptr;  ///< null: in none
    Place* before_ = nullptr;
    Place* behind_ = nullptr;
    Time deadline_ = 0;
    Time wakes_at_ = 0;
    std::uint64_t number_ = 0;  ///< in the order of arrival
    bool rests_ = false;
    bool hurries_ = false;
    bool nudged_ = false;  ///< while it was busy: what it is being told may be out of date
    Event event_ = Event::turn;
  };
  using Woken = std::vector<Place*>;

  explicit WaitingQueues(const WaitingBounds& bounds = {}) : bounds_(bounds) {}

  /// The name of a queue.
  static std::string bucket_of(std::string_view name_space, std::string_view entity,
                               std::string_view resource);
  Joined join(Place& place, const std::string& bucket, Time deadline);
  /// `retry_at`: of the first, after a refusal. Wakes it at once if there is nothing to wait for.
  void rest(Place& place, Time now, std::optional<Time> retry_at, Woken& woken);
  /// Leaves its queue, if it is in one.
  void leave(Place& place, Woken& woken);
  /// Has it time out as soon as it rests.
  void hurry(Place& place, Woken& woken);
  /// Has all of them time out, and those that come.
  void close(Woken& woken);
  /// Gives the first of each queue of the namespace a turn, also one that rests only after this call.
  /// `resource`: empty for all; a change for an entity concerns the queues of its descendants, too.
  void nudge(std::string_view name_space, std::string_view resource, Woken& woken);
  /// Wakes all that are due.
  void advance(Time now, Woken& woken);

  /// The next moment at which advance() wakes a request; nothing: none.
  std::optional<Time> next() const;
  /// When the first of this one's bucket will try again; nothing: it is busy.
  std::optional<Time> first_tries_at(const std::string& bucket) const;
  /// Whether others of its bucket came before it and still wait. For one that is in no queue: whether any
  /// waits.
  bool is_behind_others(const Place& place, const std::string& bucket) const;
  /// Whether it was told to hurry.
  static bool hurries(const Place& place) { return place.hurries_; }
  std::size_t size() const { return size_; }
  /// How many of them rest.
  std::size_t resting() const { return resting_.size(); }

 private:
  void wake(Place& place, Event event, Woken& woken);
  static bool is_first(const Place& place) { return place.before_ == nullptr; }

  const WaitingBounds bounds_;
  std::unordered_map<std::string, Queue> queues_;
  /// Those that rest, by the moment at which they are woken; equals in the order of arrival.
  std::map<std::pair<Time, std::uint64_t>, Place*> resting_;
  std::size_t size_ = 0;
  std::uint64_t arrivals_ = 0;
  bool closed_ = false;
};

}  // namespace weir::limiter

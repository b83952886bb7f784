// Compares every write to a bucket with an ideal bucket, which has no conditions and no expiry.
//
// The ideal bucket refills as the clock advances, never beyond the burst, and each charge takes from it. The
// admitted amount of any interval is within burst and refill exactly if no acquire overdraws the ideal
// bucket. The ideal bucket does not expire, so that the comparison finds a bucket that was created again too
// early, or with too much.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bucket/refill.h"
#include "store/dynamodb/items.h"

namespace weir::dynamodb {

/// What the writes to one bucket with the limit "rpm" have done, in whole tokens.
struct Replay {
  /// The amount of every acquire; adjusts must charge something else.
  static constexpr std::int64_t acquired = 1'000;

  long charged = 0;
  long given_back = 0;
  int generations = 0;
  int deletions = 0;
  int changes = 0;  ///< of the limits

  explicit Replay(const std::vector<Item>& images) {
    for (const Item& image : images) {
      // What follows the first that is wrong says nothing.
      if (wrong_) return;
      image.empty() ? vanish() : take(image);
    }
  }
  long admitted() const { return charged - given_back; }

 private:
  void take(const Item& image) {
    const auto read = read_bucket(image);
    const bucket::LimitState* const limit = read ? read->state.find("rpm") : nullptr;
    check(limit != nullptr, "a part of a bucket is written");
    if (wrong_) return;
    const bucket::State& next = read->state;
    const bool made = !last_ || last_->generation != next.generation;
    const std::int64_t delta = limit->consumed - (made ? 0 : last_->find("rpm")->consumed);
    made ? make(next, *limit) : refill(next.refilled_at, limit->parameters, next.version);
    (delta > 0 ? charged : given_back) += static_cast<long>(std::abs(delta) / 1000);
    const std::int64_t burst = limit->parameters.burst;
    const std::int64_t stored = std::min(limit->tokens, burst);
    holds_ = std::min(holds_ - delta, burst);
    // Where limits change, what the stretch before grants depends on when the change was made.
    if (changed_) {
      check(stored <= holds_, "tokens from nowhere, by a change of limits");
      holds_ = stored;
    }
    check(stored == holds_, "it holds " + std::to_string(stored) + ", not " + std::to_string(holds_));
    check(delta != acquired || holds_ >= 0, "admitted what was not there");
    last_ = next;
  }

  void vanish() {
    ++deletions;
    deleted_ = true;
  }

  void make(const bucket::State& next, const bucket::LimitState& limit) {
    if (last_) {
      const bucket::Parameters& old = last_->find("rpm")->parameters;
      // A writer that makes one in the place of another has seen the time of its expiry. One that finds none
      // may have looked at the clock before: the expiry must have been in order, and what is charged counts
      // from then.
      check(deleted_ || last_->expires_at <= next.refilled_at, "made anew before it expired");
      refill(last_->expires_at, old, last_->version);
      check(holds_ >= old.capacity, "expired before it was full again");
    }
    ++generations;
    changed_ = false;
    deleted_ = false;
    holds_ = limit.parameters.capacity;
  }

  /// The ideal bucket at a later moment, under limits that may be others from then on.
  void refill(Time moment, const bucket::Parameters& parameters, std::int64_t version) {
    const bucket::Parameters& old = last_->find("rpm")->parameters;
    // Limits that came back to what they were are a change too: the bucket is held to the lowest of those it
    // missed.
    changed_ = old != parameters || last_->version != version;
    changes += changed_ ? 1 : 0;
    check(moment >= last_->refilled_at, "refill that was granted is granted again");
    const std::int64_t granted = std::max(bucket::granted(old.rate, last_->refilled_at, moment),
                                          bucket::granted(parameters.rate, last_->refilled_at, moment));
    holds_ = std::min(holds_ + granted, parameters.burst);
  }

  void check(bool holds, const std::string& what) {
    if (holds || wrong_) return;
    wrong_ = true;
    ADD_FAILURE() << what << ", after " << charged << " tokens were charged and " << generations
                  << " times it was made";
  }

  std::optional<bucket::State> last_;
  std::int64_t holds_ = 0;
  bool changed_ = false;
  bool deleted_ = false;
  bool wrong_ = false;
};

}  // namespace weir::dynamodb

// An acquire, or a look: the same decision without the charge.
#pragma once

#include "base/recycled.h"
#include "store/redis/operation.h"

namespace weir::redis {

class Acquire final : public Operation, public base::Recycled<Acquire> {
 public:
  Acquire(RedisBuckets& buckets, const store::Plan& plan, decision::Verb verb, Decision& decision,
          store::Completion<store::Progress> done);
  ~Acquire() override;
  void start();

 private:
  void send_plan();
  Time lease_for() const;
  /// The deadline of a lease that was admitted in one command at `now`.
  Time deadline_from(Time now) const;
  /// The marker that an admission writes, without its deadline and generations.
  std::string marker_text() const;
  void replied(const Reply& reply) override;
  /// Reads the numbers of one bucket after the charge; false: they are malformed.
  bool show_charged(std::size_t place, std::string_view& numbers, Time& moment);
  /// Admitted, with the numbers of all buckets; `now` is 0 if every bucket was refilled at the moment of the
  /// decision.
  void admitted(std::string_view numbers, Time now);
  Result<decision::Next> decide(Time now, States& states, decision::Marker* marker) override;
  bool refused() const override { return verb_ == decision::Verb::acquire && decision_.refused(); }
  void unchanged(Time now, std::span<const ReadBucket> read) override;
  bool refuse_from_memory();
  void restart() override;
  bool counts(const ReadBucket& /*before*/) const override { return plan_.counts_usage(); }

  const store::Plan& plan_;
  const decision::Verb verb_;
  bool concurrent_ = false;  ///< the chain has concurrent limits
  bool in_process_ = false;  ///< load, decide and put, since the script cannot decide it
  Decision& decision_;
  decision::Chain chain_;  ///< for the plain case: the amounts of each limit
  Time sent_at_ = 0;       ///< by ServerTime::here()
};

}  // namespace weir::redis

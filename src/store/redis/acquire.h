// An acquire, or a look at what one would be told.
#pragma once

#include <array>

#include "base/recycled.h"
#include "store/redis/operation.h"

namespace weir::redis {

class Acquire final : public Operation, public base::Recycled<Acquire> {
 public:
  enum class Mode : std::uint8_t { acquire, peek };
  Acquire(RedisBuckets& buckets, const store::Plan& plan, Mode mode, Decision& decision,
          store::Completion<store::Progress> done);
  ~Acquire() override;
  void start();

 private:
  /// Field b of each bucket; empty: there is none.
  using States = std::array<std::string_view, limits::max_chain>;
  Result<void> check();
  void send_plan();
  void pack(std::string& plan, Time now) const;
  Time lease_for() const;
  /// What the lease's marker says behind its deadline.
  std::string marked_amounts() const;
  void replied(const Reply& reply) override;
  void admitted(std::string_view states);
  void admitted(Time now, Reply::Children states);
  void refused(Time now, Reply::Children states);
  void remember_spent(Time now, const States& states);
  bool refuse_from_memory();
  /// Whether what was seen of a bucket is what the plan would be held to.
  bool counts(std::size_t place, std::string_view state, Time now) const;
  /// Shows all buckets as they are; false: one cannot be read.
  bool show_refused(Time now, const States& states);
  Result<store::Progress> decide(Workbench& bench) override;
  void restart() override;
  /// The lines of one bucket.
  LimitReport::Line* report(std::size_t place, std::uint64_t generation, bool charged);
  /// Takes one bucket's tokens from its state after the charge; false: it cannot be read.
  bool show_charged(std::size_t place, std::string_view b);
  bool show_as_it_is(std::size_t place, std::string_view state, Time now);
  std::string marker_key() const override { return marker_; }

  const store::Plan& plan_;
  const Mode mode_;
  Decision& decision_;
  decision::Chain stops_;
  std::string marker_;          ///< of a plan that is charged once
  Time sent_at_ = 0;            ///< by ServerTime::here()
  bool asked_for_time_ = true;  ///< so that answers tell the server's time
  std::vector<std::shared_ptr<const SetInPlan>> in_plan_;
};

}  // namespace weir::redis

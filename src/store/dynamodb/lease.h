// A change to a lease: adjust, extend, settle, rollback.
#pragma once

#include "store/conditional/change.h"
#include "store/dynamodb/operation.h"

namespace weir::dynamodb {

class LeaseChange final : public Operation {
 public:
  LeaseChange(Context& context, const store::LeasePlan& plan, store::LeaseOutcome& outcome,
              store::Completion<store::Progress> done);
  void start();

 private:
  enum class Step : unsigned char { opening, finding, changing, looking };

  void look_for_limits();
  bool shows_limits(std::size_t place, const conditional::Image& image) const;
  void find_limits();
  bool must_find_again(const conditional::Event& event) const;
  void begin_as_is(std::vector<conditional::Image> images);
  void begin(std::vector<conditional::Image> images);
  /// A bucket that no level has limits for keeps those that were in force at its last decision.
  void resolve_as_is(std::size_t place, const conditional::Image& image);
  void on_event(const conditional::Event& event) override;
  bool maybe_written() const override;
  Purpose purpose(bool decided) const override;
  void act(const conditional::Action& action);
  void conclude();
  void report();
  const conditional::Record* alive(std::size_t place) const;

  const store::LeasePlan& plan_;
  store::LeaseOutcome& outcome_;
  std::optional<conditional::Change> machine_;
  Step step_ = Step::changing;
  bool as_remembered_ = false;  ///< limits of a bucket were taken from its remembered image
  Time now_ = 0;
  std::uint64_t new_generation_ = 0;
  std::vector<conditional::Image> seen_;
};

}  // namespace weir::dynamodb

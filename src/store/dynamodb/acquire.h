// An acquire, or a look: the same decision without the charge.
#pragma once

#include "store/conditional/acquire.h"
#include "store/dynamodb/operation.h"

namespace weir::dynamodb {

class Acquire final : public Operation {
 public:
  enum class Mode : unsigned char { acquire, peek };
  Acquire(Context& context, const store::Plan& plan, Mode mode, Decision& decision,
          store::Completion<store::Progress> done);
  void start();

 private:
  enum class Step : unsigned char { deciding, looking };

  /// Whether a bucket has the limit, and it is not off.
  bool charged(std::size_t place, std::string_view limit) const;
  bool is_concurrent(std::size_t place, std::string_view limit) const;
  std::vector<conditional::BucketPlan> plans() const;
  void set_marker_entity();
  void begin(std::vector<conditional::Image> images);
  bool refuse_from_memory(const std::vector<conditional::Image>& images);
  void on_event(const conditional::Event& event) override;
  bool maybe_written() const override;
  Purpose purpose(bool decided) const override;
  void act(const conditional::Action& action);
  Result<void> check_sizes();
  void conclude();
  void admitted();
  void refused();
  void looked(const conditional::Event& event);
  conditional::Once lease_record() const;
  /// Answers an acquire that was admitted before.
  void repeat(const conditional::Marker& seen);
  const conditional::Record* alive(std::size_t place) const;
  /// Adds the lines of all buckets to the report.
  void report(bool charged);

  const store::Plan& plan_;
  const Mode mode_;
  Decision& decision_;
  decision::Chain chain_;
  std::optional<conditional::Acquire> machine_;
  Step step_ = Step::deciding;
  Time now_ = 0;
  std::uint64_t new_generation_ = 0;
  std::vector<conditional::LinkCheck> bare_;  ///< entities of the chain without limits
  int writes_ = 0;
  bool from_memory_ = false;
  std::vector<conditional::Image> seen_;  ///< images of a look
};

}  // namespace weir::dynamodb

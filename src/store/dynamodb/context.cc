#include "store/dynamodb/context.h"

#include "base/text.h"
#include "store/dynamodb/start_up.h"

namespace weir::dynamodb {

Result<void> Context::check_clock() const {
  if (clock_bound == 0) return {};
  const Time skew = client.skew();
  if (skew <= clock_bound && skew >= -clock_bound) return {};
  client.look();
  return base::error(ErrorCode::unavailable, "the clock of this machine differs from DynamoDB's by ",
                     std::to_string(skew < 0 ? -skew : skew), " ms, and ", std::to_string(clock_bound),
                     " are allowed; set it right");
}

bool Context::may_have_legacy() const { return start_up != nullptr && start_up->may_have_legacy(); }

std::optional<aws::DynamoFailure> Context::why_closed() const {
  if (start_up == nullptr || start_up->opened()) [[likely]]
    return std::nullopt;
  const auto open = start_up->check();
  if (open) return std::nullopt;
  return aws::DynamoFailure{.kind = aws::DynamoFailure::Kind::not_open, .message = open.error().message};
}

limits::LimitsRecordRef Context::limits_in(const Item& item) {
  const auto read = read_limits(item);
  if (read) return limits::LimitsRecordRef(read->get());
  const auto record = bad_limits(item, read.error());
  bad.report(record->bad);
  return limits::LimitsRecordRef(record.get());
}

limits::PlanRecordRef Context::plan_in(const Item& item) {
  const auto read = read_plan(item);
  if (read) return limits::PlanRecordRef(read->get());
  auto plan = base::make_ref<limits::PlanRecord>();
  plan->bad = read.error().message + ". The next level applies; put or delete the plan";
  bad.report(plan->bad);
  return limits::PlanRecordRef(plan.get());
}

void Context::send(aws::DynamoCall& call) {
  if (const auto closed = why_closed()) [[unlikely]]
    return call.on_error(*closed);
  client.send(call);
}

}  // namespace weir::dynamodb

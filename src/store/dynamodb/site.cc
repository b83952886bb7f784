#include "store/dynamodb/site.h"

#include "base/text.h"
#include "store/dynamodb/opening.h"

namespace weir::dynamodb {

Result<void> Site::check_clock() const {
  if (clock_bound == 0) return {};
  const Time skew = client.skew();
  if (skew <= clock_bound && skew >= -clock_bound) return {};
  client.look();
  return base::error(ErrorCode::unavailable, "the clock of this machine differs from DynamoDB's by ",
                     std::to_string(skew < 0 ? -skew : skew), " ms, and ", std::to_string(clock_bound),
                     " are allowed; set it right");
}

bool Site::may_have_legacy() const { return opening != nullptr && opening->may_have_legacy(); }

void Site::send(aws::DynamoCall& call) {
  if (opening != nullptr && !opening->opened()) [[unlikely]] {
    if (const auto open = opening->check(); !open)
      return call.on_error({.kind = aws::DynamoFailure::Kind::not_open, .message = open.error().message});
  }
  client.send(call);
}

}  // namespace weir::dynamodb

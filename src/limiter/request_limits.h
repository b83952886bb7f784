// The implementation of RequestLimits.
#pragma once

#include "limits/limit_set.h"
#include "weir/limiter.h"

namespace weir {

struct RequestLimits::Set {
  limits::LimitSetRef limits;
};

}  // namespace weir

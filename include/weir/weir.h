// The whole public API, for programs that embed weir.
#pragma once

#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/decision.h"
#include "weir/entity.h"
#include "weir/lease.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/limiter.h"
#include "weir/report.h"
#include "weir/result.h"
#include "weir/usage.h"
#include "weir/version.h"

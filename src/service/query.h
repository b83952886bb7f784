// The query of a call, as server/ reads it.
#pragma once

#include "server/paging.h"
#include "server/query.h"

namespace weir::service {

using server::malformed;
using server::page_reply;
using server::paging_of;
using server::Query;
using server::read_moment;

}  // namespace weir::service

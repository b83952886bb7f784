// A browser sends requests of any web page to any address, also to one of its own machine. Without tokens,
// only the head tells such a request from one of a program:
//
//   Sec-Fetch-Site, Origin   are set by the browser, and name the page
//   Host                     names a page whose name was made to lead to this machine (DNS rebinding). Such a
//                            page counts as the server's own, and would read answers, too
#pragma once

#include <optional>

#include "server/problem.h"
#include "wire/http_request.h"

namespace weir::server {

/// What is usual for a call at this address.
struct Callers {
  bool any_host = false;  ///< programs call it by names that weir does not know
  bool proxies = false;  ///< proxies make the call for their clients, and may pass on the fields of a browser
};

/// The answer to a request that a page of another site may have sent; nothing if none can have. For calls
/// that ask for no token.
std::optional<Reply> refuse_foreign_page(const wire::http::RequestHead& request, Callers callers);

}  // namespace weir::server

// A web page can make a browser send requests to any address, including the browser's own machine. Without
// tokens, only the head distinguishes such a request from one of a program:
//
//   Sec-Fetch-Site, Origin   the browser sets them, and they name the site of the page
//   Host                     by DNS rebinding, the name of a page's site can lead to this machine. The
//                            browser then takes page and server for one site, and lets the page read the
//                            answers, too. Such a name can be registered, so it has a dot
#pragma once

#include <optional>

#include "server/problem.h"
#include "wire/http_request.h"

namespace weir::server {

/// Which requests are normal for a call.
struct Callers {
  bool any_host = false;  ///< programs call it by names that weir does not know
  bool proxies = false;  ///< proxies make the call for their clients, and may pass on the fields of a browser
};

/// The answer to a request that a page of another site may have sent; nothing if none can have. For calls
/// that ask for no token.
std::optional<Reply> refuse_foreign_page(const wire::http::RequestHead& request, Callers callers);

}  // namespace weir::server

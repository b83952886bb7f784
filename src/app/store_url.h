// The URL of a store, for rooms that only pass it on.
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

/// Whether the URL can be parsed. Sends no request and opens no file.
Result<void> check_store_url(std::string_view url);
/// The URL without its password, for messages and logs.
std::string without_password(std::string_view url);

}  // namespace weir::app

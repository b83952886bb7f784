// Creates what a store needs before it can be opened, or gives a template for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

/// Creates the table of a dynamodb: URL if it is missing, and waits for it; calls `say` with every step.
/// Other stores are created when they are opened. What exists stays unchanged.
Result<void> make_store(std::string_view url, const std::function<void(const std::string& what)>& say);

/// A template for other tools: "cloudformation", "terraform", or "iam" for the permissions, or
/// "iam-aggregate" for those of `weir aggregate`. Only for dynamodb: URLs. Sends no request.
Result<std::string> store_template(std::string_view url, std::string_view kind);

}  // namespace weir::app

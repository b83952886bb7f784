// Makes what a store needs before it can be opened, or says how others can make it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

/// Makes the table of a dynamodb: URL where it is missing, and waits for it; `say` is told of every step.
/// Other stores are made when they are opened. What exists stays as it is.
Result<void> make_store(std::string_view url, const std::function<void(const std::string& what)>& say);

/// What to hand to whoever makes tables: "cloudformation", "terraform", or "iam" for the rights that are
/// needed. Only for dynamodb: URLs. Asks nobody.
Result<std::string> store_template(std::string_view url, std::string_view kind);

}  // namespace weir::app

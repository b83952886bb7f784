// The description of the API that the service serves: docs/openapi.yaml, as JSON.
#pragma once

#include <string_view>

namespace weir::service {

/// OpenAPI 3.0, made from docs/openapi.yaml by the build.
std::string_view openapi_json();

}  // namespace weir::service

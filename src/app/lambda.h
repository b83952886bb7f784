// Runs weir as a function of AWS Lambda: a custom runtime, which asks for one event after the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

struct LambdaOptions {
  std::string runtime_api;  ///< AWS_LAMBDA_RUNTIME_API: HOST:PORT
  /// Called with messages for the operator.
  std::function<void(const std::string& message)> report;
};

/// Answers one event, which is JSON, with JSON.
using LambdaHandler = std::function<Result<std::string>(const std::string& event)>;

/// Makes the handler with `start`, and answers events. Returns only where the runtime API cannot be reached
/// any more, or the handler cannot be made.
Result<void> serve_lambda(const LambdaOptions& options, const std::function<Result<LambdaHandler>()>& start);

/// Counts the usage of a dynamodb: store from the events of its stream. Returns only where the runtime API
/// cannot be reached any more, or the store cannot be opened.
Result<void> run_lambda(std::string_view store, const LambdaOptions& options);

}  // namespace weir::app

#include "llm/error_body.h"

#include "base/json.h"
#include "base/text.h"

namespace weir::llm {
namespace {

std::string_view openai_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

std::string_view gemini_status(int status) {
  switch (status) {
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "NOT_FOUND";
    case 429:
      return "RESOURCE_EXHAUSTED";
    case 503:
      return "UNAVAILABLE";
    case 504:
      return "DEADLINE_EXCEEDED";
    default:
      return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
  }
}

std::string gemini_body(const ErrorText& error, const std::string& message) {
  std::string body = base::join(R"({"error":{"code":)", std::to_string(error.status), R"(,"message":)",
                                message, R"(,"status":")", gemini_status(error.status), "\"");
  if (error.retry_after_ms) {
    std::string millis = std::to_string(*error.retry_after_ms % 1000);
    millis.insert(0, 3 - millis.size(), '0');
    body += base::join(R"(,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":")",
                       std::to_string(*error.retry_after_ms / 1000), ".", millis, R"(s"}])");
  }
  return body + "}}";
}

std::string vendor_body(Vendor vendor, const ErrorText& error) {
  const std::string message = base::json_string(error.message);
  if (vendor == Vendor::gemini) return gemini_body(error, message);
  if (vendor == Vendor::anthropic) {
    return base::join(R"({"type":"error","error":{"type":")", anthropic_type(error.status), R"(","message":)",
                      message, "}}");
  }
  std::string code(error.code);
  if (code.empty() && error.status == 429) code = "rate_limit_exceeded";
  return base::join(R"({"error":{"message":)", message, R"(,"type":")", openai_type(error.status),
                    R"(","param":null,"code":)", code.empty() ? std::string("null") : base::json_string(code),
                    "}}");
}

}  // namespace

std::string error_body(Vendor vendor, const ErrorText& error) {
  std::string body = vendor_body(vendor, error);
  if (error.decision.empty()) return body;
  // Clients of every vendor skip a member that they do not know.
  body.pop_back();
  return body + base::join(R"(,"decision":")", error.decision, "\"}");
}

}  // namespace weir::llm

#include "server/problem.h"

#include "base/json.h"
#include "wire/http_message.h"

namespace weir::server {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "Malformed request";
    case 401:
      return "Token missing or unknown";
    case 403:
      return "Not allowed";
    case 404:
      return "Not found";
    case 405:
      return "Method not allowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Too large";
    case 415:
      return "Unsupported media type";
    case 422:
      return "Cannot be done";
    default:
      return wire::http::reason_phrase(status);
  }
}

}  // namespace

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unknown_limit:
    case ErrorCode::no_limits:
      return 422;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
    case ErrorCode::operator_owned:
      return 409;
    case ErrorCode::expired:
      return 410;
    case ErrorCode::exhausted:
      return 429;
    case ErrorCode::unavailable:
    case ErrorCode::contention:
    case ErrorCode::outcome_unknown:
      return 503;
  }
  return 500;
}

Reply problem(int status, std::string_view type, std::string_view detail, std::string_view decision) {
  auto json = base::JsonWriter::object();
  json.text("type", type.empty() ? std::string_view("about:blank") : type).text("title", title_of(status));
  json.number("status", status).text("detail", detail);
  if (!decision.empty()) json.text("decision", decision);
  return {.status = status, .body = json.str(), .content_type = "application/problem+json"};
}

Reply problem(const Error& error, std::string_view decision) {
  const int status = status_of(error.code);
  Reply reply = problem(status, name_of(error.code), error.message, decision);
  // Contention and an unavailable store are temporary; after an unknown outcome a retry needs an idempotency
  // key.
  if (status == 503 && error.code != ErrorCode::outcome_unknown) reply.fields = "Retry-After: 1\r\n";
  return reply;
}

}  // namespace weir::server

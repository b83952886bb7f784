#include "client/failures.h"

#include <optional>

#include "base/text.h"
#include "client/answers.h"

namespace weir::client {
namespace {

using base::error;
using base::join;

using Kind = net::HttpFailure::Kind;

constexpr std::string_view problem_type = "application/problem+json";

/// Advice for a certificate that is not accepted.
std::string tls_advice(const std::string& detail, const Asked& asked) {
  const auto says = [&](std::string_view words) { return detail.find(words) != std::string::npos; };
  if (says("wrong version") || says("unknown protocol") || says("connection was cut"))
    return "does it speak TLS? If not, begin --server with http://";
  if (says("mismatch")) return "its certificate is for another name: use that name in --server";
  if (says("expired") || says("not yet valid")) return "renew its certificate, or set the clock right";
  if (says("cannot use the certificates")) return "give a file of certificates (PEM) as --ca-file";
  return asked.has_ca_file ? "its certificate does not lead to one in --ca-file"
                           : "say whom to trust with --ca-file FILE, if it has a certificate of your own";
}

/// The outcome is unknown if a change was sent, else nothing was changed.
Error after_sending(bool sent, const Asked& asked, const std::string& message, std::string_view advice) {
  if (sent && asked.changes_things)
    return error(ErrorCode::outcome_unknown, message,
                 "; it may or may not have been done: look before you do it again");
  return error(ErrorCode::unavailable, message, advice);
}

bool is_https(const Asked& asked) { return asked.server.starts_with("https://"); }

/// "404 Not Found, text/html, nginx".
std::string description(const net::HttpAnswer& answer) {
  std::string text = std::to_string(answer.status);
  for (const std::string* const part : {&answer.reason, &answer.content_type, &answer.server}) {
    if (!part->empty()) text += join(part == &answer.reason ? " " : ", ", *part);
  }
  return text;
}

std::optional<ErrorCode> code_of(std::string_view type) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::unknown_limit, ErrorCode::no_limits, ErrorCode::not_found,
        ErrorCode::conflict, ErrorCode::operator_owned, ErrorCode::expired, ErrorCode::exhausted,
        ErrorCode::unavailable, ErrorCode::contention, ErrorCode::outcome_unknown}) {
    if (type == name_of(code)) return code;
  }
  return std::nullopt;
}

Error unauthorized(const Asked& asked) {
  if (asked.token_source.empty()) {
    return error(ErrorCode::unavailable, asked.server,
                 " asks for a token; put it in WEIR_TOKEN, or in a file and say --token-file FILE");
  }
  return error(ErrorCode::unavailable, asked.server, " does not know the token in ", asked.token_source,
               "; is it in the service's --tokens file?");
}

/// The error of a problem that the service reports.
Error of_problem(const net::HttpAnswer& answer, const Problem& problem, const Asked& asked) {
  if (answer.status == 401) return unauthorized(asked);
  if (answer.status == 403) {
    return error(ErrorCode::unavailable, asked.server, " does not allow it: ", problem.detail,
                 asked.token_source.empty() ? "" : join(" (token in ", asked.token_source, ")"));
  }
  if (answer.status == 404 && problem.detail.starts_with("there is nothing at ")) {
    return error(ErrorCode::unavailable, asked.server, " does not know ", base::quoted(asked.path),
                 "; is its weir older than this one?");
  }
  if (answer.status == 404 && problem.detail.starts_with("there are /livez")) {
    return error(
        ErrorCode::unavailable, asked.server,
        " is the admin address of a gateway whose store is elsewhere, or not open yet; use --store, or the "
        "address of a service (weir serve)");
  }
  if (problem.type == "malformed") return error(ErrorCode::invalid_argument, problem.detail);
  if (answer.status == 413) {
    return error(ErrorCode::conflict, "this is more than ", asked.server,
                 " takes at once; do it in several parts");
  }
  if (const auto code = code_of(problem.type)) return {*code, problem.detail};
  return after_sending(answer.status >= 500, asked,
                       join(asked.server, " answered ", description(answer), ": ", problem.detail), "");
}

}  // namespace

Error error_of(const net::HttpFailure& failure, const Asked& asked) {
  const std::string cannot_reach = join("cannot reach ", asked.server, ": ", failure.detail);
  switch (failure.kind) {
    case Kind::no_such_host:
      return error(ErrorCode::unavailable, cannot_reach, "; check the host in --server");
    case Kind::refused:
      return error(ErrorCode::unavailable, cannot_reach,
                   "; is the service running there (weir serve), and is the port right?");
    case Kind::unreachable:
      return error(ErrorCode::unavailable, cannot_reach, "; check the address in --server and the network");
    case Kind::tls:
      return error(ErrorCode::unavailable, "no secure connection to ", asked.server, ": ", failure.detail,
                   "; ", tls_advice(failure.detail, asked));
    case Kind::slow:
      return after_sending(failure.sent, asked,
                           join(asked.server, " took longer than ", asked.timeout, ": ", failure.detail),
                           "; check --server, or wait longer with --timeout");
    case Kind::lost:
      return after_sending(
          failure.sent, asked, join("the connection to ", asked.server, " was cut before the answer came"),
          is_https(asked) ? "; try again" : "; try again, or with https:// if it speaks TLS");
    case Kind::too_large:
      return error(ErrorCode::unavailable, "the answer of ", asked.server, " is larger than weir reads");
    default:
      return error(ErrorCode::unavailable, "what answers at ", asked.server, " does not speak HTTP (",
                   failure.detail, "); check host and port",
                   is_https(asked) ? "" : ", or begin with https:// if it speaks TLS");
  }
}

Error error_of(const net::HttpAnswer& answer, const Asked& asked) {
  if (answer.content_type == problem_type) {
    if (const auto problem = read_problem(answer.body)) return of_problem(answer, *problem, asked);
  }
  if (answer.status >= 300 && answer.status < 400) {
    return error(ErrorCode::unavailable, asked.server, " sends you on to ",
                 answer.location.empty() ? "somewhere else" : base::quoted(answer.location),
                 "; use that as --server, without the ", asked.path);
  }
  if (answer.status >= 500) {
    return after_sending(answer.status != 503, asked,
                         join(asked.server, " answered ", description(answer),
                              ", and that was not weir but a proxy in front of it"),
                         "; is the service behind it running?");
  }
  return not_weir(answer, asked);
}

Error not_weir(const net::HttpAnswer& answer, const Asked& asked) {
  return error(ErrorCode::unavailable, "what answers at ", asked.server, " is not weir (",
               description(answer), "); check host, port and path of --server");
}

}  // namespace weir::client

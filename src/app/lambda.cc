#include "app/lambda.h"

#include "app/url.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http_client.h"
#include "store/dynamodb/lambda_function.h"
#include "wire/url.h"

namespace weir::app {
namespace {

constexpr std::string_view api_path = "/2018-06-01/runtime/";
constexpr std::string_view id_field = "lambda-runtime-aws-request-id";
/// The process is frozen while it waits for an event.
constexpr std::chrono::hours between_events{24};

/// The runtime API of Lambda.
class Runtime {
 public:
  Runtime(std::string host, std::uint16_t port) : client_({.host = std::move(host), .port = port}) {}

  struct Event {
    std::string id;
    std::string json;
  };
  Result<Event> next() {
    auto asked = client_.ask({.target = base::join(api_path, "invocation/next"),
                              .repeatable = true,
                              .extra_patience = between_events,
                              .wanted_field = std::string(id_field)});
    const auto* const answer = std::get_if<net::HttpAnswer>(&asked);
    if (answer == nullptr) return gone(std::get<net::HttpFailure>(asked).detail);
    if (answer->status != 200 || answer->wanted_field.empty())
      return gone(base::join("it answers ", std::to_string(answer->status)));
    return Event{answer->wanted_field, answer->body};
  }
  Result<void> answer(const std::string& id, const Result<std::string>& result) {
    const std::string body = result ? *result : error_json(result.error());
    return post(base::join("invocation/", id, result ? "/response" : "/error"), body);
  }
  /// The function cannot start.
  Result<void> give_up(const Error& error) { return post("init/error", error_json(error)); }

 private:
  static std::string error_json(const Error& error) {
    return base::JsonWriter::object().text("errorType", "weir").text("errorMessage", error.message).str();
  }
  static Error gone(std::string_view why) {
    return base::error(ErrorCode::unavailable, "the runtime API of Lambda cannot be used: ", why);
  }
  Result<void> post(std::string_view path, const std::string& body) {
    auto asked = client_.ask({.method = wire::http::Method::post,
                              .target = base::join(api_path, path),
                              .body = body,
                              .repeatable = true});
    if (const auto* const failure = std::get_if<net::HttpFailure>(&asked)) return gone(failure->detail);
    return {};
  }
  net::HttpClient client_;
};

}  // namespace

Result<void> serve_lambda(const LambdaOptions& options, const std::function<Result<LambdaHandler>()>& start) {
  const auto at = wire::parse_host_port(options.runtime_api);
  if (!at) return base::invalid("AWS_LAMBDA_RUNTIME_API is not HOST:PORT");
  Runtime runtime(at->host, at->port);
  auto handler = start();
  if (!handler) {
    (void)runtime.give_up(handler.error());
    return handler.error();
  }
  for (;;) {
    const auto event = runtime.next();
    if (!event) return event.error();
    const auto result = (*handler)(event->json);
    if (!result) options.report(result.error().message);
    if (auto answered = runtime.answer(event->id, result); !answered) return answered;
  }
}

Result<void> run_lambda(std::string_view store, const LambdaOptions& options) {
  auto parsed = parse_store_url(store);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid("only dynamodb://TABLE has a stream to count from; set WEIR_STORE");
  return serve_lambda(options, [&]() -> Result<LambdaHandler> {
    auto function = dynamodb::LambdaFunction::open(parsed->dynamodb, options.report);
    if (!function) return function.error();
    return LambdaHandler([kept = std::shared_ptr<dynamodb::LambdaFunction>(*std::move(function))](
                             const std::string& event) { return kept->invoke(event); });
  });
}

}  // namespace weir::app

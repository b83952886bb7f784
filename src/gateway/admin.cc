#include "gateway/admin.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "base/text.h"
#include "server/foreign_page.h"

namespace weir::gateway {
namespace {

void answer(net::Exchange exchange, const server::Reply& reply) {
  const std::string fields = base::join(reply.fields, "Content-Type: ", reply.content_type, "\r\n");
  exchange.answer({.status = reply.status, .fields = fields, .body = reply.body});
}

constexpr std::string_view decisions_path = "/v1/decisions";

server::Reply text(std::string body) { return {.body = std::move(body), .content_type = "text/plain"}; }

server::Reply no_api() { return server::problem(404, "not-found", "there are /livez, /readyz and /metrics"); }

/// The paths that the gateway itself answers.
bool is_own(std::string_view path) { return path == "/livez" || path == "/readyz" || path == "/metrics"; }

}  // namespace

net::BodyPlan Admin::plan(const wire::http::RequestHead& request) {
  AdminApi* const behind = api();
  return behind == nullptr || is_own(request.path()) ? Handler::plan(request) : behind->plan(request);
}

/// An API that is set later has no state for each thread, and needs none.
void Admin::on_thread(net::Loop& loop) {
  if (AdminApi* const behind = api()) behind->on_thread(loop);
}

void Admin::describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) {
  if (AdminApi* const behind = api()) return behind->describe(refusal, fields, body);
  Handler::describe(refusal, fields, body);
}

void Admin::handle(net::Exchange exchange) {
  const wire::http::RequestHead& request = exchange.request();
  using wire::http::Method;
  const std::string_view path = request.path();
  const bool of_decisions = path == decisions_path || path.starts_with("/v1/decisions/");
  if (!is_own(path)) {
    // The API serves the decisions, too, and checks the token.
    if (AdminApi* const behind = api()) return behind->handle(std::move(exchange));
    if (!of_decisions || !serves_decisions_) return answer(std::move(exchange), no_api());
  }
  if (request.method() != Method::get && request.method() != Method::head) {
    server::Reply reply = server::problem(405, "method-not-allowed", "use GET, HEAD");
    reply.fields = "Allow: GET, HEAD\r\n";
    return answer(std::move(exchange), reply);
  }
  if (of_decisions || path == "/metrics") {
    if (auto foreign = server::refuse_foreign_page(request, {.any_host = !of_decisions}))
      return answer(std::move(exchange), *foreign);
  }
  if (of_decisions) {
    const server::Reply reply = decisions(request);
    return answer(std::move(exchange), reply);
  }
  if (path == "/livez") return answer(std::move(exchange), text("ok\n"));
  if (path == "/metrics")
    return answer(std::move(exchange), {.body = metrics(), .content_type = telemetry::Metrics::content_type});
  if (!ready_.load(std::memory_order_relaxed))
    return answer(std::move(exchange), server::problem(503, "not-ready", "the gateway is shutting down"));
  // Ready even while the store is unavailable: each route has its on_unavailable.
  Decider* const decider = gateway_.decider();
  const bool up = decider != nullptr && decider->outage.look().ok();
  answer(std::move(exchange), text(up ? "ready\n" : "ready, but the store is unavailable\n"));
}

server::Reply Admin::decisions(const wire::http::RequestHead& request) const {
  server::DecisionLog* const log = gateway_.options().decisions;
  // The command line sends the namespace of its options; the gateway has one.
  const std::string& name_space = gateway_.options().name_space;
  if (request.path() == decisions_path) return server::decisions_reply(log, request.query(), name_space);
  return server::decision_reply(log, request.path().substr(decisions_path.size() + 1), name_space);
}

std::string Admin::metrics() const {
  if (Decider* const decider = gateway_.decider()) (void)decider->outage.look();
  auto families = gateway_.metrics().Collect();
  for (auto& family : gateway_.counts().Collect()) families.push_back(std::move(family));
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

}  // namespace weir::gateway

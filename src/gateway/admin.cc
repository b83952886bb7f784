#include "gateway/admin.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "base/text.h"
#include "server/problem.h"

namespace weir::gateway {
namespace {

void answer(net::Exchange exchange, const server::Reply& reply) {
  const std::string fields = base::join(reply.fields, "Content-Type: ", reply.content_type, "\r\n");
  exchange.answer({.status = reply.status, .fields = fields, .body = reply.body});
}

server::Reply text(std::string body) { return {.body = std::move(body), .content_type = "text/plain"}; }

}  // namespace

void Admin::handle(net::Exchange exchange) {
  const wire::http::RequestHead& request = exchange.request();
  using wire::http::Method;
  const std::string_view path = request.path();
  if (path != "/livez" && path != "/readyz" && path != "/metrics") {
    return answer(std::move(exchange),
                  server::problem(404, "not-found", "there are /livez, /readyz and /metrics"));
  }
  if (request.method() != Method::get && request.method() != Method::head) {
    server::Reply reply = server::problem(405, "method-not-allowed", "use GET, HEAD");
    reply.fields = "Allow: GET, HEAD\r\n";
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

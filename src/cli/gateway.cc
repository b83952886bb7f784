// gateway: the reverse proxy.
#include "app/check_store.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/read.h"
#include "gateway/run.h"
#include "server/start.h"
#include "service/service.h"
#include "service/tokens.h"

namespace weir::cli {
namespace {

/// The HTTP API of `weir serve`, on the store of a gateway.
class GatewayApi final : public gateway::AdminApi {
 public:
  explicit GatewayApi(const gateway::AdminApiOptions& options)
      : tokens_(options.tokens),
        service_(options.foundation, {.store = server::kind_of(options.store),
                                      .log = options.log,
                                      .decisions = options.decisions,
                                      .name_space = options.name_space,
                                      .check_store = [store = options.store](const std::string& name_space) {
                                        return app::check_namespace(store, {}, name_space);
                                      }}) {}

  Result<void> reload() override {
    auto tokens = service::read_tokens(tokens_, "admin_tokens");
    if (!tokens) return tokens.error();
    service_.set_tokens(*std::move(tokens));
    return {};
  }
  void stop() override { service_.stop_waiting(); }

  net::BodyPlan plan(const wire::http::RequestHead& request) override { return service_.plan(request); }
  void handle(net::Exchange exchange) override { service_.handle(std::move(exchange)); }
  void on_thread(net::Loop& loop) override { service_.on_thread(loop); }
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override {
    service_.describe(refusal, fields, body);
  }

 private:
  const std::string tokens_;
  service::Service service_;
};

Result<std::unique_ptr<gateway::AdminApi>> make_api(const gateway::AdminApiOptions& options) {
  auto api = std::make_unique<GatewayApi>(options);
  if (auto loaded = api->reload(); !loaded) return loaded.error();
  return std::unique_ptr<gateway::AdminApi>(std::move(api));
}

}  // namespace

Result<ExitCode> gateway(Session& session, const Arguments& arguments) {
  if (arguments.check) {
    const auto settings =
        gateway::check(arguments.config, said(arguments.common.store, session.world(), "WEIR_STORE"));
    if (!settings) return settings.error();
    if (auto tokens = service::read_tokens(settings->admin_tokens, "admin_tokens"); !tokens)
      return tokens.error();
    session.out() << arguments.config << ": " << settings->routes.size()
                  << (settings->routes.size() == 1 ? " route" : " routes") << ", nothing to fix\n";
    return done;
  }
  gateway::RunOptions options;
  options.make_api = make_api;
  options.config = arguments.config;
  options.store = said(arguments.common.store, session.world(), "WEIR_STORE");
  if (session.namespace_was_said()) options.name_space = session.options().name_space;
  if (auto read = read_log_options(arguments, options.log); !read) return read.error();
  auto served = gateway::run(options, session.out(), session.world().err);
  if (!served) return served.error();
  return done;
}

}  // namespace weir::cli

// Calls that may take long.
#include <algorithm>

#include "api/catalog_json.h"
#include "api/finding_json.h"
#include "base/json.h"
#include "service/calls.h"
#include "service/changes.h"
#include "service/query.h"

namespace weir::service {
namespace {

bool is_of_system(const CatalogChange& change) {
  const auto* const set = std::get_if<SetLimits>(&change);
  const auto* const erase = std::get_if<DeleteLimits>(&change);
  return (set != nullptr && set->level == Level::system()) ||
         (erase != nullptr && erase->level == Level::system());
}

/// Counts writes by sync and takeovers, as for the calls that set limits of one level.
void count_writes(telemetry::Metrics& metrics, const std::vector<CatalogChange>& changes,
                  const Result<std::size_t>& taken) {
  using telemetry::SyncWrite;
  if (!taken) {
    // The error is about one change, so one is counted.
    if (taken.error().code == ErrorCode::operator_owned) metrics.sync_write(SyncWrite::operator_owned);
    return;
  }
  for (const CatalogChange& change : changes) {
    const auto* const set = std::get_if<SetLimits>(&change);
    if (set != nullptr && set->options.owner == Owner::sync) metrics.sync_write(SyncWrite::written);
  }
  for (std::size_t i = 0; i < *taken; ++i) metrics.taken_from_sync();
}

Reply change(limiter::Core& core, std::string_view body, Outage& outage, telemetry::Metrics& metrics) {
  const auto parsed = parse_changes(body);
  if (!parsed.ok()) return bad_body(parsed);
  const auto taken = core.change_counted(parsed.value);
  count_writes(metrics, parsed.value, taken);
  if (!taken) {
    if (Outage::is_outage(taken.error())) outage.failed(taken.error());
    return problem(taken.error());
  }
  outage.succeeded();
  if (std::any_of(parsed.value.begin(), parsed.value.end(), is_of_system))
    outage.learn_changed(core.name_space());
  auto json = base::JsonWriter::object();
  json.number("changed", static_cast<long long>(parsed.value.size()));
  return {.body = json.str()};
}

Reply checked_store(const ServiceOptions& options, const std::string& name_space) {
  if (!options.check_store) return problem(404, "not-found", "this service cannot check its store");
  const auto findings = options.check_store(name_space);
  if (!findings) return problem(findings.error());
  auto list = base::JsonWriter::array();
  for (const store::Finding& finding : *findings) list.add(api::to_json(finding));
  return {.body = base::JsonWriter::object().raw("findings", list.str()).str()};
}

Reply namespaces(limiter::Core& core, const std::string& only) {
  const auto names = core.namespaces();
  if (!names) return problem(names.error());
  auto list = base::JsonWriter::array();
  for (const Namespace& one : *names) {
    if (only.empty() || one.name == only) list.add(api::to_json(one));
  }
  return {.body = base::JsonWriter::object().raw("namespaces", list.str()).str()};
}

/// Creates (PUT), purges (DELETE) or restores (POST).
Result<Namespace> changed_namespace(limiter::Core& core, const Route& route, wire::http::Method method,
                                    Time keep_for) {
  const std::string& name = route.names[0];
  if (route.call == Call::restore_namespace) return core.restore_namespace(name);
  return method == wire::http::Method::put ? core.create_namespace(name)
                                           : core.purge_namespace(name, keep_for);
}

Reply change_namespace(limiter::Core& core, const Route& route, const wire::http::RequestHead& request) {
  constexpr Time week = Time{7} * 24 * 60 * 60 * 1000;
  const bool purges = request.method() == wire::http::Method::delete_;
  const Query query(request.query(), {"keep_ms"});
  if (!query.error().empty()) return malformed(query.error());
  if (query.has("keep_ms") && !purges) return malformed("keep_ms is for DELETE, which purges");
  const auto keep_for =
      query.has("keep_ms") ? base::parse_digits(query.get("keep_ms")) : std::optional<std::int64_t>(week);
  if (!keep_for) return malformed("keep_ms is a whole number of milliseconds");
  const auto changed = changed_namespace(core, route, request.method(), *keep_for);
  return changed ? Reply{.body = api::to_json(*changed)} : problem(changed.error());
}

/// Answers with the result of `work`. Releases the store first, as every call does.
template <class Work>
class ResponseTask final : public Task {
 public:
  ResponseTask(Responder responder, Work work) : responder_(std::move(responder)), work_(std::move(work)) {}
  void run() override {
    Reply reply = (*work_)(responder_);
    work_.reset();
    Responder last = std::move(responder_);
    last.send(std::move(reply));
  }
  Responder& responder() { return responder_; }

 private:
  Responder responder_;
  std::optional<Work> work_;
};

template <class Work>
void hand_over(ThreadPool& tasks, std::string_view refusal, Responder responder, Work work) {
  auto made = std::make_unique<ResponseTask<Work>>(std::move(responder), std::move(work));
  Responder& kept = made->responder();
  std::unique_ptr<Task> task = std::move(made);
  if (tasks.take(task)) return;
  Reply reply = problem(503, refusal, "too many such requests wait already; try again");
  reply.fields = "Retry-After: 1\r\n";
  kept.send(std::move(reply));
}

}  // namespace

/// A caller that is bound to a namespace learns nothing about the others.
void Service::check_store(Responder responder, const Identity& identity) {
  hand_over(checks_, "contention", std::move(responder),
            [this, name_space = identity.bound ? identity.name_space : std::string()](const Responder&) {
              return checked_store(options_, name_space);
            });
}

void Service::list_namespaces(Responder responder, const Identity& identity, const CoreRef& core) {
  hand_over(sums_, "contention", std::move(responder),
            [core, only = identity.bound ? identity.name_space : std::string()](const Responder&) {
              return namespaces(*core, only);
            });
}

void Service::change_namespace(Responder responder, const Route& route, const CoreRef& core) {
  hand_over(sums_, "contention", std::move(responder), [core, route](const Responder& asked) {
    return service::change_namespace(*core, route, asked.request());
  });
}

void Service::find_decision(Responder responder, const std::string& id, const Identity& identity) {
  using decision_log::Audience;
  const Audience audience = identity.bound ? Audience::one_namespace : Audience::whole_log;
  hand_over(sums_, "contention", std::move(responder),
            [this, id, name_space = identity.name_space, audience](const Responder&) {
              return server::decision_reply(options_.decisions, id, name_space, audience);
            });
}

void Service::run_task(Responder responder, const Route& route, const CoreRef& core) {
  switch (route.call) {
    case Call::metrics:
      return hand_over(scrapes_, "busy", std::move(responder), [this](const Responder&) {
        return Reply{.body = metrics_->text(), .content_type = telemetry::Metrics::content_type};
      });
    case Call::changes:
      return hand_over(tasks_, "contention", std::move(responder), [this, core](const Responder& asked) {
        return change(*core, asked.exchange().body(), outage_, *metrics_);
      });
    default:
      return hand_over(is_long(route.call) ? sums_ : lookups_, "contention", std::move(responder),
                       [this, core, route](const Responder& asked) {
                         return at_once(route, asked.request(), asked.exchange().body(), *core);
                       });
  }
}

}  // namespace weir::service

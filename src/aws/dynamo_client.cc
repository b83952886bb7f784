#include "aws/dynamo_client.h"

#include <algorithm>

#include "aws/endpoint.h"
#include "base/text.h"
#include "wire/buffer.h"
#include "wire/http_write.h"
#include "wire/url.h"

namespace weir::aws {
namespace {

using Kind = DynamoFailure::Kind;
using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::string_view content_type = "application/x-amz-json-1.0";
/// A signature may be this far from the server's time; a smaller skew needs no correction.
constexpr Time signature_slack = 60'000;
/// A capacity unit in thousandths.
constexpr std::uint64_t unit = 1000;

DynamoFailure failure_of(const net::HttpFailure& failure) {
  return {.kind = failure.sent ? Kind::unknown : Kind::unavailable, .message = failure.detail};
}

}  // namespace

Url dynamodb_endpoint(std::string_view region) {
  return {{true, base::join("dynamodb.", region, ".", domain_of(region)), 443}, "/"};
}

Url streams_endpoint(std::string_view region) {
  Url url = dynamodb_endpoint(region);
  url.server.host = base::join("streams.", url.server.host);
  return url;
}

Error error_of(const DynamoFailure& failure) {
  const std::string what =
      failure.code.empty() ? failure.message : base::join(failure.code, ": ", failure.message);
  switch (failure.kind) {
    case Kind::condition:
    case Kind::conflict:
      return base::error(ErrorCode::contention, "others wrote the same items too often meanwhile; try again");
    case Kind::throttled:
      return base::error(ErrorCode::unavailable, "DynamoDB is asked for too much (", what,
                         "); nothing was changed, try again later, or raise the capacity of the table");
    case Kind::not_found:
      return base::error(ErrorCode::unavailable, "DynamoDB has no such table (", what,
                         "); make it with `weir store init`, or check the table and the region in the URL");
    case Kind::denied:
      // Without a code it was not DynamoDB: there are no credentials to ask it with.
      if (failure.code.empty()) return base::error(ErrorCode::unavailable, failure.message);
      return base::error(ErrorCode::unavailable, "DynamoDB does not accept the credentials (", what,
                         "); `weir store check` says which rights are needed");
    case Kind::skewed:
      return base::error(ErrorCode::unavailable, "DynamoDB has another time (", what,
                         "); set the clock right");
    case Kind::unavailable:
      return base::error(ErrorCode::unavailable, "DynamoDB is unavailable: ", what,
                         "; nothing was changed, try again later");
    case Kind::not_open:
      return base::error(ErrorCode::unavailable, failure.message);
    case Kind::unknown:
      return base::error(ErrorCode::outcome_unknown, "DynamoDB may or may not have done it: ", what);
    default:
      return base::error(ErrorCode::unavailable, "DynamoDB refuses (", what, ")");
  }
}

void DynamoCall::on_reply(const net::HttpReply& reply) { client_->replied(*this, reply); }
void DynamoCall::on_failure(const net::HttpFailure& failure) { client_->failed(*this, failure_of(failure)); }

/// Probes whether DynamoDB is back, and reads its clock.
class DynamoClient::Probe final : public DynamoCall {
 public:
  explicit Probe(DynamoClient& client) : client_of_it_(client) {}
  // Any answer will do; the client has already recorded it.
  void on_answer(const DynamoAnswer&) override { ended(); }
  void on_error(const DynamoFailure&) override { ended(); }

 private:
  void ended() {
    bool open = false;
    {
      const base::Guard guard(client_of_it_.mutex_);
      client_of_it_.probing_ = false;
      open = client_of_it_.breaker_.open();
    }
    if (open) client_of_it_.probe(client_of_it_.options_.open_for);
  }
  DynamoClient& client_of_it_;
};

DynamoClient::DynamoClient(DynamoOptions options, std::unique_ptr<CredentialsKeeper> keeper,
                           const Clock& clock, base::Entropy& entropy)
    : options_(std::move(options)),
      host_(wire::authority_of({options_.endpoint.server.host, options_.endpoint.server.port},
                               options_.endpoint.server.tls)),
      clock_(clock),
      entropy_(entropy),
      signer_({options_.region, "dynamodb"}),
      breaker_({.failures = options_.failures_until_open}),
      probe_(std::make_unique<Probe>(*this)),
      keeper_(std::move(keeper)) {}

Result<std::unique_ptr<DynamoClient>> DynamoClient::start(DynamoOptions options,
                                                          std::unique_ptr<CredentialsKeeper> keeper,
                                                          const Clock& clock, base::Entropy& entropy) {
  std::unique_ptr<DynamoClient> client(
      new DynamoClient(std::move(options), std::move(keeper), clock, entropy));
  const DynamoOptions& of_it = client->options_;
  auto pool = net::HttpPool::start({.host = of_it.endpoint.server.host,
                                    .port = of_it.endpoint.server.port,
                                    .tls = of_it.endpoint.server.tls,
                                    .ca_file = of_it.ca_file,
                                    .most_connections = of_it.most_connections,
                                    .most_calls = of_it.most_calls});
  if (!pool) return pool.error();
  client->pool_ = *std::move(pool);
  return client;
}

DynamoClient::~DynamoClient() {
  stopping_.store(true, std::memory_order_relaxed);
  if (pool_) pool_->stop();
}

void DynamoClient::send(DynamoCall& call) {
  call.client_ = this;
  call.ends_ = Steady::now() + (call.time.count() > 0 ? call.time : options_.deadline);
  call.attempts_ = 0;
  call.in_doubt_ = false;
  call.corrected_ = false;
  if (!call.is_probe_) {
    DynamoFailure failure{.kind = Kind::unavailable};
    bool open = false;
    {
      const base::Guard guard(mutex_);
      open = breaker_.open();
      if (open) failure.message = breaker_.trouble();
    }
    if (open) return call.on_error(failure);
  }
  attempt(call);
}

void DynamoClient::attempt(DynamoCall& call) {
  keeper_->get(now(), [this, &call](Result<CredentialsKeeper::Shared> found) {
    if (!found)
      return call.on_error(
          {.kind = call.in_doubt_ ? Kind::unknown : Kind::denied, .message = found.error().message});
    call.credentials_ = *std::move(found);
    sign_and_send(call);
  });
}

void DynamoClient::sign_and_send(DynamoCall& call) {
  const auto left = std::chrono::ceil<milliseconds>(call.ends_ - Steady::now());
  if (left.count() <= 0) {
    return call.on_error(
        {.kind = call.in_doubt_ ? Kind::unknown : Kind::unavailable, .message = "no answer in time"});
  }
  const std::string target = base::join(options_.target_prefix, call.operation);
  const Time now_here = now();
  wire::aws::Signature signature;
  {
    const base::Guard guard(mutex_);
    signature =
        signer_.sign({.path = options_.endpoint.path,
                      .fields = {{"host", host_}, {"content-type", content_type}, {"x-amz-target", target}},
                      .body = call.request},
                     *call.credentials_, now_here);
  }
  wire::Buffer fields;
  wire::http::write_field(fields, "Content-Type", content_type);
  wire::http::write_field(fields, "X-Amz-Target", target);
  wire::http::write_field(fields, "X-Amz-Date", {signature.date.data(), signature.date.size()});
  if (!call.credentials_->session_token.empty())
    wire::http::write_field(fields, "X-Amz-Security-Token", call.credentials_->session_token);
  wire::http::write_field(fields, "Authorization", signature.authorization);
  net::HttpCall& http = call;
  http.target = options_.endpoint.path;
  http.fields.assign(fields.view());
  http.body = call.request;
  http.within = left;
  call.sent_at_ = clock_.now();
  counts_.requests.fetch_add(1, std::memory_order_relaxed);
  if (call.attempts_++ > 0) counts_.repeated.fetch_add(1, std::memory_order_relaxed);
  pool_->send(http);
}

void DynamoClient::replied(DynamoCall& call, const net::HttpReply& reply) {
  if (const auto date = parse_http_date(reply.fields.find("date").value_or("")))
    skew_.store(least_skew(*date, call.sent_at_, clock_.now()), std::memory_order_relaxed);
  if (reply.status == 200) {
    const auto answer = read_answer(reply.body);
    if (!answer) return failed(call, {.kind = Kind::unknown, .message = "it answers what cannot be read"});
    answered();
    const auto consumed = static_cast<std::uint64_t>(answer->consumed);
    counts_.consumed.fetch_add(consumed, std::memory_order_relaxed);
    const std::string& asked = call.operation;
    const bool reads = asked == "BatchGetItem" || asked == "Query" || asked == "Scan";
    (reads ? call.spent.read : call.spent.written) += consumed;
    if (reads) counts_.by_reads.fetch_add(consumed, std::memory_order_relaxed);
    return call.on_answer(*answer);
  }
  DynamoFailure failure = read_failure(reply.status, reply.body);
  if (failure.kind == Kind::condition)
    call.spent.written += failure.reasons.empty() ? unit : 2 * unit * failure.reasons.size();
  if (failure.kind == Kind::throttled) counts_.throttled.fetch_add(1, std::memory_order_relaxed);
  if (failure.kind != Kind::unknown) answered();
  failed(call, std::move(failure));
}

void DynamoClient::failed(DynamoCall& call, DynamoFailure failure) {
  if (failure.kind == Kind::unknown) call.in_doubt_ = true;
  if (failure.kind == Kind::unknown || failure.kind == Kind::unavailable) unanswered(failure.message);
  if (again(call, failure)) return;
  // An earlier copy may have been carried out, whatever the result of this one.
  if (call.in_doubt_ && failure.kind != Kind::condition) failure.kind = Kind::unknown;
  call.on_error(failure);
}

bool DynamoClient::again(DynamoCall& call, const DynamoFailure& failure) {
  if (stopping_.load(std::memory_order_relaxed)) return false;
  if ((failure.kind == Kind::skewed || failure.kind == Kind::denied) && !call.corrected_) {
    call.corrected_ = true;
    if (failure.kind == Kind::denied) {
      keeper_->distrust(call.credentials_);
    } else {
      correction_.store(skew(), std::memory_order_relaxed);
    }
    if (failure.kind == Kind::denied || std::abs(skew()) > signature_slack) {
      pool_->after(milliseconds(0), [this, &call] { attempt(call); });
      return true;
    }
  }
  const bool will_do = failure.kind == Kind::conflict || failure.kind == Kind::throttled ||
                       failure.kind == Kind::unavailable ||
                       (failure.kind == Kind::unknown && call.repeatable);
  if (!will_do || call.attempts_ >= options_.most_attempts || call.attempts_ == 0) return false;
  const milliseconds most =
      std::min(options_.longest_pause, options_.first_pause * (1 << (call.attempts_ - 1)));
  const auto pause = milliseconds(entropy_.next() % static_cast<std::uint64_t>(most.count() + 1));
  if (Steady::now() + pause >= call.ends_) return false;
  pool_->after(pause, [this, &call] { attempt(call); });
  return true;
}

void DynamoClient::answered() {
  const base::Guard guard(mutex_);
  breaker_.answered();
}

void DynamoClient::unanswered(const std::string& why) {
  {
    const base::Guard guard(mutex_);
    if (!breaker_.unanswered(Steady::now(), base::join(host_, ": ", why))) return;
    counts_.outages.fetch_add(1, std::memory_order_relaxed);
  }
  probe(options_.open_for);
}

void DynamoClient::look() { probe(milliseconds(0)); }

void DynamoClient::probe(milliseconds pause) {
  if (stopping_.load(std::memory_order_relaxed)) return;
  {
    const base::Guard guard(mutex_);
    if (probing_) return;
    probing_ = true;
  }
  pool_->after(pause, [this] {
    probe_->is_probe_ = true;
    probe_->operation = options_.probe_operation;
    probe_->request = options_.probe_request;
    probe_->repeatable = true;
    probe_->time = std::max<milliseconds>(options_.deadline, milliseconds(1000));
    send(*probe_);
  });
}

Result<void> DynamoClient::health() const {
  const base::Guard guard(mutex_);
  if (!breaker_.open()) return {};
  return base::error(ErrorCode::unavailable, "DynamoDB is unavailable: ", breaker_.trouble());
}

namespace {

/// A call that blocks its caller.
class BlockingCall final : public DynamoCall {
 public:
  void on_answer(const DynamoAnswer& answer) override {
    const base::Guard guard(mutex_);
    body_ = answer.body;
    answer_ = answer;
    ended_.notify_one();
  }
  void on_error(const DynamoFailure& failure) override {
    const base::Guard guard(mutex_);
    failure_ = failure;
    ended_.notify_one();
  }
  void wait() {
    const base::Guard guard(mutex_);
    while (!answer_ && !failure_) ended_.wait(mutex_);
  }
  std::optional<DynamoAnswer> answer_;
  std::optional<DynamoFailure> failure_;
  std::string body_;

 private:
  base::Mutex mutex_;
  base::Condition ended_;
};

}  // namespace

Asked DynamoClient::ask(std::string operation, std::string request, bool repeatable, milliseconds time) {
  BlockingCall waiting;
  waiting.operation = std::move(operation);
  waiting.request = std::move(request);
  waiting.repeatable = repeatable;
  waiting.time = time;
  send(waiting);
  waiting.wait();
  if (waiting.failure_) return {.failure = std::move(waiting.failure_), .spent = waiting.spent};
  waiting.answer_->body = {};
  return {.answer = *std::move(waiting.answer_), .body = std::move(waiting.body_), .spent = waiting.spent};
}

}  // namespace weir::aws

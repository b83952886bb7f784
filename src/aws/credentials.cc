#include "aws/credentials.h"

#include "base/text.h"
#include "net/http_client.h"
#include "wire/buffer.h"
#include "wire/http_write.h"

namespace weir::aws {
namespace {

/// Sends one request.
Result<net::HttpAnswer> ask(const CredentialsRequest& wanted, const CredentialsOptions& options) {
  net::HttpClient client({.host = wanted.server.host,
                          .port = wanted.server.port,
                          .tls = wanted.server.tls,
                          .ca_file = options.ca_file,
                          .timeout = options.timeout,
                          .largest_body = std::uint64_t{64} * 1024});
  wire::Buffer fields;
  for (const auto& [name, value] : wanted.fields) {
    if (!wire::http::write_field(fields, name, value))
      return base::invalid("a token cannot be sent in ", name);
  }
  auto answered = client.ask({.method = wanted.method,
                              .target = wanted.target,
                              .fields = std::string(fields.view()),
                              .repeatable = true});
  if (auto* const answer = std::get_if<net::HttpAnswer>(&answered)) return std::move(*answer);
  return base::error(ErrorCode::unavailable, wanted.server.host,
                     " does not answer: ", std::get<net::HttpFailure>(answered).detail);
}

}  // namespace

CredentialsKeeper::CredentialsKeeper(Source source, Environment environment, CredentialsOptions options)
    : source_(std::move(source)), environment_(std::move(environment)), options_(std::move(options)) {
  if (const auto* const keys = std::get_if<Credentials>(&source_)) {
    current_ = std::make_shared<const Credentials>(*keys);
    expires_at_ = limits::never;
    return;
  }
  thread_ = std::thread([this] { run(); });
}

CredentialsKeeper::~CredentialsKeeper() {
  {
    const base::Guard guard(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CredentialsKeeper::get(Time now, Done done) {
  const base::Guard guard(mutex_);
  now_ = now;
  if (expires_at_ == limits::never || now < expires_at_) {
    const Shared current = current_;
    const bool old = expires_at_ != limits::never && now >= expires_at_ - options_.early.count();
    if (old && now - tried_at_ >= options_.pause.count()) wake();
    const base::Release release(mutex_);
    return done(current);
  }
  if (failure_ && !fetching_ && now >= tried_at_ && now - tried_at_ < options_.pause.count()) {
    const Error failure = *failure_;
    const base::Release release(mutex_);
    return done(failure);
  }
  waiting_.push_back(std::move(done));
  wake();
}

void CredentialsKeeper::wake() {
  if (wanted_) return;
  wanted_ = true;
  changed_.notify_all();
}

void CredentialsKeeper::distrust(const Shared& refused) {
  const base::Guard guard(mutex_);
  if (current_ != refused || expires_at_ == limits::never) return;
  expires_at_ = 0;
}

Result<Leased> CredentialsKeeper::fetch() const {
  // The instance's service is asked where nothing else is configured.
  const auto unavailable = [this](const Error& error) {
    if (std::holds_alternative<Instance>(source_)) return no_credentials(environment_, error.message);
    return base::error(ErrorCode::unavailable, "AWS credentials cannot be fetched: ", error.message);
  };
  Fetch fetch(source_, environment_);
  auto wanted = fetch.start();
  if (!wanted) return wanted.error();
  for (;;) {
    auto answer = ask(*wanted, options_);
    if (!answer) return unavailable(answer.error());
    auto next = fetch.answered(answer->status, answer->body);
    if (!next) return unavailable(next.error());
    if (auto* const leased = std::get_if<Leased>(&*next)) return std::move(*leased);
    wanted = std::get<CredentialsRequest>(*std::move(next));
  }
}

void CredentialsKeeper::run() {
  const base::Guard guard(mutex_);
  for (;;) {
    while (!wanted_ && !ending_) changed_.wait(mutex_);
    if (ending_) break;
    fetching_ = true;
    tried_at_ = now_;
    std::optional<Result<Leased>> fetched;
    {
      const base::Release release(mutex_);
      fetched = fetch();
    }
    wanted_ = false;
    fetching_ = false;
    failure_.reset();
    if (*fetched) {
      current_ = std::make_shared<const Credentials>(std::move((*fetched)->credentials));
      expires_at_ = (*fetched)->expires_at;
    } else {
      failure_ = fetched->error();
    }
    tell(failure_ ? Result<Shared>(*failure_) : Result<Shared>(current_));
  }
  tell(base::error(ErrorCode::unavailable, "the program is ending"));
}

void CredentialsKeeper::tell(const Result<Shared>& result) {
  std::vector<Done> waiting;
  waiting.swap(waiting_);
  const base::Release release(mutex_);
  for (const Done& done : waiting) done(result);
}

}  // namespace weir::aws

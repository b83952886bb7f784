#include "aws/credentials.h"

#include "base/text.h"
#include "net/http_client.h"
#include "wire/buffer.h"
#include "wire/http_write.h"

namespace weir::aws {
namespace {

/// Asks a server once.
Result<net::HttpAnswer> ask(const Errand& errand, const CredentialsOptions& options) {
  net::HttpClient client({.host = errand.server.host,
                          .port = errand.server.port,
                          .tls = errand.server.tls,
                          .ca_file = options.ca_file,
                          .timeout = options.timeout,
                          .largest_body = std::uint64_t{64} * 1024});
  wire::Buffer fields;
  for (const auto& [name, value] : errand.fields) {
    if (!wire::http::write_field(fields, name, value))
      return base::invalid("a token cannot be sent in ", name);
  }
  auto answered = client.ask({.method = errand.method,
                              .target = errand.target,
                              .fields = std::string(fields.view()),
                              .repeatable = true});
  if (auto* const answer = std::get_if<net::HttpAnswer>(&answered)) return std::move(*answer);
  return base::error(ErrorCode::unavailable, "AWS credentials cannot be got from ", errand.server.host, ": ",
                     std::get<net::HttpFailure>(answered).detail,
                     "; give some in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in a profile");
}

}  // namespace

CredentialsKeeper::CredentialsKeeper(Source source, Surroundings surroundings, CredentialsOptions options)
    : source_(std::move(source)), surroundings_(std::move(surroundings)), options_(std::move(options)) {
  if (const auto* const keys = std::get_if<Credentials>(&source_)) {
    current_ = std::make_shared<const Credentials>(*keys);
    expires_at_ = limits::never;
    return;
  }
  thread_ = std::thread([this] { run(); });
}

CredentialsKeeper::~CredentialsKeeper() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CredentialsKeeper::get(Time now, Done done) {
  std::unique_lock lock(mutex_);
  now_ = now;
  if (expires_at_ == limits::never || now < expires_at_) {
    const Shared current = current_;
    const bool old = expires_at_ != limits::never && now >= expires_at_ - options_.early.count();
    if (old && now - tried_at_ >= options_.pause.count()) wake();
    lock.unlock();
    return done(current);
  }
  if (failure_ && !fetching_ && now >= tried_at_ && now - tried_at_ < options_.pause.count()) {
    const Error failure = *failure_;
    lock.unlock();
    return done(failure);
  }
  waiting_.push_back(std::move(done));
  wake();
}

/// Requires the mutex.
void CredentialsKeeper::wake() {
  if (wanted_) return;
  wanted_ = true;
  changed_.notify_all();
}

void CredentialsKeeper::distrust(const Shared& refused) {
  const std::scoped_lock lock(mutex_);
  if (current_ != refused || expires_at_ == limits::never) return;
  expires_at_ = 0;
}

Result<Leased> CredentialsKeeper::fetch() const {
  Fetch fetch(source_, surroundings_);
  auto errand = fetch.start();
  if (!errand) return errand.error();
  for (;;) {
    auto answer = ask(*errand, options_);
    if (!answer) return answer.error();
    auto next = fetch.answered(answer->status, answer->body);
    if (!next) return next.error();
    if (auto* const leased = std::get_if<Leased>(&*next)) return std::move(*leased);
    errand = std::get<Errand>(*std::move(next));
  }
}

void CredentialsKeeper::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return wanted_ || ending_; });
    if (ending_) break;
    fetching_ = true;
    tried_at_ = now_;
    lock.unlock();
    Result<Leased> fetched = fetch();
    lock.lock();
    wanted_ = false;
    fetching_ = false;
    failure_.reset();
    if (fetched) {
      current_ = std::make_shared<const Credentials>(std::move(fetched->credentials));
      expires_at_ = fetched->expires_at;
    } else {
      failure_ = fetched.error();
    }
    const Result<Shared> result = fetched ? Result<Shared>(current_) : Result<Shared>(fetched.error());
    std::vector<Done> waiting;
    waiting.swap(waiting_);
    lock.unlock();
    for (const Done& done : waiting) done(result);
    lock.lock();
  }
  std::vector<Done> waiting;
  waiting.swap(waiting_);
  lock.unlock();
  for (const Done& done : waiting) done(base::error(ErrorCode::unavailable, "the program is ending"));
}

}  // namespace weir::aws

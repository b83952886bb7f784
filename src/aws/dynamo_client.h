// The client of DynamoDB: signs, sends, tells what became of it, and tries again what certainly did not
// happen.
//
// What is known not to have been carried out (throttled, in conflict, never sent) is sent again after a pause
// of random length whose bound doubles ("full jitter"), as long as the call's time lasts. What may have been
// carried out is sent again only if the call says that this is harmless.
//
// The breaker: after several calls in a row that brought no answer, calls fail at once for a while. The
// client asks by itself whether DynamoDB is back.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "aws/credentials.h"
#include "aws/dynamo_answer.h"
#include "base/entropy.h"
#include "base/lock.h"
#include "net/breaker.h"
#include "net/http_pool.h"
#include "weir/clock.h"

namespace weir::aws {

struct DynamoOptions {
  std::string region;  ///< "eu-central-1"
  Url endpoint;        ///< where it is
  std::string ca_file = {};
  unsigned most_connections = 32;
  std::size_t most_calls = 10'000;
  /// How long a call may take, all its attempts together, unless it says otherwise.
  std::chrono::milliseconds deadline{250};
  /// Before a call is sent again: a random time up to this, doubled each time.
  std::chrono::milliseconds first_pause{10};
  std::chrono::milliseconds longest_pause{200};
  int most_attempts = 6;
  /// So many calls in a row without an answer open the breaker.
  int failures_until_open = 5;
  std::chrono::milliseconds open_for{500};
  /// A read that shows whether DynamoDB is back.
  std::string probe_operation = "ListTables";
  std::string probe_request = R"({"Limit":1})";
};

/// AWS's own endpoint of DynamoDB in a region.
Url dynamodb_endpoint(std::string_view region);

/// What was sent and what came of it; counted up.
struct DynamoCounts {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> repeated{0};  ///< requests that were not the first of their call
  std::atomic<std::uint64_t> throttled{0};
  std::atomic<std::uint64_t> consumed{0};  ///< capacity units, in thousandths, as far as answers tell
  std::atomic<std::uint64_t> by_reads{0};  ///< of those, for what only reads
  std::atomic<std::uint64_t> outages{0};   ///< how often the breaker opened
};

/// Capacity units, in thousandths.
struct Units {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

/// One request and what becomes of it. Made and kept by its owner until one of the two functions was called,
/// which may destroy it, or send it again. They are called on the client's thread, or inside send().
class DynamoCall : private net::HttpCall {
 public:
  std::string operation;  ///< "UpdateItem"
  std::string request;    ///< JSON
  /// Carrying it out twice is the same as once: reads, and writes with a token or a condition that only one
  /// copy can meet.
  bool repeatable = false;
  /// How long it may take; 0: as the options say.
  std::chrono::milliseconds time{0};
  /// What it and those sent by it before have cost. Answers tell, but not for conditions that did not hold:
  /// those are counted by the rule that they cost at least a unit each, and two in a transaction.
  Units spent = {};

  virtual void on_answer(const DynamoAnswer& answer) = 0;
  virtual void on_error(const DynamoFailure& failure) = 0;

 private:
  friend class DynamoClient;
  void on_reply(const net::HttpReply& reply) final;
  void on_failure(const net::HttpFailure& failure) final;

  class DynamoClient* client_ = nullptr;
  CredentialsKeeper::Shared credentials_;
  std::chrono::steady_clock::time_point ends_;
  Time sent_at_ = 0;
  int attempts_ = 0;
  bool in_doubt_ = false;   ///< a copy was sent that may have been carried out
  bool corrected_ = false;  ///< it was signed anew after the clocks or the credentials were found to be wrong
  bool is_probe_ = false;
};

/// What came of a request that somebody waited for.
struct Asked {
  std::optional<DynamoFailure> failure = {};
  DynamoAnswer answer = {};  ///< without failure; its body is below
  std::string body = {};
  Units spent = {};
  bool ok() const { return !failure; }
};

/// Safe to use from any thread.
class DynamoClient {
 public:
  /// The clock tells what to sign with, the entropy how long to pause; both must outlive the client.
  static Result<std::unique_ptr<DynamoClient>> start(DynamoOptions options,
                                                     std::unique_ptr<CredentialsKeeper> keeper,
                                                     const Clock& clock, base::Entropy& entropy);
  /// Every call that is left fails. Not from a callback.
  ~DynamoClient();
  DynamoClient(const DynamoClient&) = delete;
  DynamoClient& operator=(const DynamoClient&) = delete;

  void send(DynamoCall& call);
  /// Sends and waits. Not from a callback.
  Asked ask(std::string operation, std::string request, bool repeatable,
            std::chrono::milliseconds time = std::chrono::seconds(10));
  /// Whether this is the thread on which calls end.
  bool is_here() const { return pool_->is_here(); }

  /// Asks for something, so that skew() and health() are up to date soon.
  void look();

  /// Whether the last attempts were answered, and if not, why.
  Result<void> health() const;
  /// How far the server's clock is ahead of ours, at least, by the last answer; below 0: behind.
  Time skew() const { return skew_.load(std::memory_order_relaxed); }
  const DynamoCounts& counts() const { return counts_; }
  const DynamoOptions& options() const { return options_; }

 private:
  friend class DynamoCall;
  class Probe;
  DynamoClient(DynamoOptions options, std::unique_ptr<CredentialsKeeper> keeper, const Clock& clock,
               base::Entropy& entropy);
  void attempt(DynamoCall& call);
  void sign_and_send(DynamoCall& call);
  void replied(DynamoCall& call, const net::HttpReply& reply);
  void failed(DynamoCall& call, DynamoFailure failure);
  bool again(DynamoCall& call, const DynamoFailure& failure);
  void answered();
  void unanswered(const std::string& why);
  void probe(std::chrono::milliseconds pause);
  Time now() const { return clock_.now() + correction_.load(std::memory_order_relaxed); }

  const DynamoOptions options_;
  const std::string host_;
  const Clock& clock_;
  base::Entropy& entropy_;
  DynamoCounts counts_;
  std::atomic<Time> skew_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<Time> correction_{0};  ///< added to the time of signatures

  mutable base::Mutex mutex_;
  wire::aws::Signer signer_ WEIR_GUARDED_BY(mutex_);
  net::Breaker breaker_ WEIR_GUARDED_BY(mutex_);
  bool probing_ WEIR_GUARDED_BY(mutex_) = false;

  std::unique_ptr<class Probe> probe_;
  std::unique_ptr<net::HttpPool> pool_;
  std::unique_ptr<CredentialsKeeper> keeper_;
};

/// The failure as an error of a store: what happened, and what to do.
Error error_of(const DynamoFailure& failure);

}  // namespace weir::aws

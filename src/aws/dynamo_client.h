// The client of DynamoDB: signs and sends requests, classifies the answers, and retries.
//
// A request that was certainly not carried out (throttled, in conflict, never sent) is retried until the
// call's deadline, with exponential backoff and full jitter. A request that may have been carried out is
// retried only if the call is marked repeatable.
//
// The breaker: after several calls in a row without an answer, calls fail at once for a while. The client
// then probes DynamoDB.
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
  Url endpoint;        ///< the URL of DynamoDB
  /// The API of the operations, as X-Amz-Target has it.
  std::string target_prefix = "DynamoDB_20120810.";
  std::string ca_file = {};
  unsigned most_connections = 32;
  std::size_t most_calls = 10'000;
  /// The timeout of a call, all its attempts together, unless the call has its own.
  std::chrono::milliseconds deadline{250};
  /// The backoff before a retry: a random time up to this, doubled each time.
  std::chrono::milliseconds first_pause{10};
  std::chrono::milliseconds longest_pause{200};
  int most_attempts = 6;
  /// This many calls in a row without an answer open the breaker.
  int failures_until_open = 5;
  std::chrono::milliseconds open_for{500};
  /// The read that probes DynamoDB.
  std::string probe_operation = "ListTables";
  std::string probe_request = R"({"Limit":1})";
};

/// AWS's own endpoint of DynamoDB in a region.
Url dynamodb_endpoint(std::string_view region);
/// The same of the streams of its tables, which are another API.
Url streams_endpoint(std::string_view region);
inline constexpr std::string_view streams_target_prefix = "DynamoDBStreams_20120810.";

/// Counters of requests and their results.
struct DynamoCounts {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> repeated{0};  ///< requests that were not the first of their call
  std::atomic<std::uint64_t> throttled{0};
  std::atomic<std::uint64_t> consumed{0};  ///< capacity units, in thousandths, as far as answers report them
  std::atomic<std::uint64_t> by_reads{0};  ///< of those, for reads
  std::atomic<std::uint64_t> outages{0};   ///< how often the breaker opened
};

/// Capacity units, in thousandths.
struct Units {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

/// One request and its result. The owner keeps it until one of the two callbacks is called, which may destroy
/// it or send it again. They are called on the client's thread, or inside send().
class DynamoCall : private net::HttpCall {
 public:
  std::string operation;  ///< "UpdateItem"
  std::string request;    ///< JSON
  /// The request is idempotent: a read, or a write with a token or a condition that only one copy can meet.
  bool repeatable = false;
  /// The timeout; 0: that of the options.
  std::chrono::milliseconds time{0};
  /// The cost of this request and its earlier attempts. Answers report it, except for conditions that did not
  /// hold: those count as one unit each, and two in a transaction, which is the least that they cost.
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
  bool corrected_ = false;  ///< it was signed again after a clock skew or rejected credentials
  bool is_probe_ = false;
};

/// The result of a blocking request.
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
  /// The clock gives the time of signatures, the entropy the jitter; both must outlive the client.
  static Result<std::unique_ptr<DynamoClient>> start(DynamoOptions options,
                                                     std::unique_ptr<CredentialsKeeper> keeper,
                                                     const Clock& clock, base::Entropy& entropy);
  /// Fails all outstanding calls. Not from a callback.
  ~DynamoClient();
  DynamoClient(const DynamoClient&) = delete;
  DynamoClient& operator=(const DynamoClient&) = delete;

  void send(DynamoCall& call);
  /// Sends and waits. Not from a callback.
  Asked ask(std::string operation, std::string request, bool repeatable,
            std::chrono::milliseconds time = std::chrono::seconds(10));
  /// Whether this is the thread of the callbacks.
  bool is_here() const { return pool_->is_here(); }

  /// Sends a probe, so that skew() and health() are soon up to date.
  void look();

  /// Whether the last attempts were answered, and if not, why.
  Result<void> health() const;
  /// The least skew by which the server's clock is ahead of the local one, by the last answer; negative:
  /// behind.
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

/// The failure as an error of a store: the cause, and the remedy.
Error error_of(const DynamoFailure& failure);

}  // namespace weir::aws

// The credentials for signing requests: fetched when first needed, and again before they expire.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "aws/credentials_source.h"
#include "base/lock.h"

namespace weir::aws {

struct CredentialsOptions {
  /// New credentials are fetched this long before the old ones expire; the old ones are used meanwhile.
  std::chrono::milliseconds early{5 * 60'000};
  /// The pause after a failed fetch.
  std::chrono::milliseconds pause{1'000};
  /// The timeout of one request.
  std::chrono::milliseconds timeout{2'000};
  /// With TLS: the trusted CA certificates; empty: those of the system.
  std::string ca_file = {};
};

/// Safe to use from any thread. Credentials of a service are fetched on a thread of its own.
class CredentialsKeeper {
 public:
  using Shared = std::shared_ptr<const Credentials>;
  using Done = std::function<void(Result<Shared>)>;

  CredentialsKeeper(Source source, Environment environment, CredentialsOptions options = {});
  /// Fails the calls that still wait.
  ~CredentialsKeeper();
  CredentialsKeeper(const CredentialsKeeper&) = delete;
  CredentialsKeeper& operator=(const CredentialsKeeper&) = delete;

  /// Calls `done` once: inline if valid credentials are cached, else on the keeper's thread.
  void get(Time now, Done done);
  /// The credentials were rejected: fetches new ones, where the source can.
  void distrust(const Shared& refused);

 private:
  Result<Leased> fetch() const;
  void run();
  void wake() WEIR_REQUIRES(mutex_);
  /// Calls all waiting callbacks, with the mutex released.
  void tell(const Result<Shared>& result) WEIR_REQUIRES(mutex_);

  const Source source_;
  const Environment environment_;
  const CredentialsOptions options_;

  base::Mutex mutex_;
  base::Condition changed_;
  Shared current_ WEIR_GUARDED_BY(mutex_);
  Time expires_at_ WEIR_GUARDED_BY(mutex_) = 0;
  Time tried_at_ WEIR_GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ WEIR_GUARDED_BY(mutex_);
  bool wanted_ WEIR_GUARDED_BY(mutex_) = false;
  bool fetching_ WEIR_GUARDED_BY(mutex_) = false;
  bool ending_ WEIR_GUARDED_BY(mutex_) = false;
  Time now_ WEIR_GUARDED_BY(mutex_) = 0;  ///< of the last call of get()
  std::vector<Done> waiting_ WEIR_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace weir::aws

// The credentials that requests are signed with: got when first needed, and again before they expire.
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
  /// This long before they expire new ones are got; the old ones go on meanwhile.
  std::chrono::milliseconds early{5 * 60'000};
  /// After a failure nothing is tried for this long.
  std::chrono::milliseconds pause{1'000};
  /// How long one request may take.
  std::chrono::milliseconds timeout{2'000};
  /// With TLS: whom to believe; empty: whom the machine believes.
  std::string ca_file = {};
};

/// Safe to use from any thread. Where credentials have to be asked for, a thread of its own does.
class CredentialsKeeper {
 public:
  using Shared = std::shared_ptr<const Credentials>;
  using Done = std::function<void(Result<Shared>)>;

  CredentialsKeeper(Source source, Environment environment, CredentialsOptions options = {});
  /// Whoever still waits is told that there are none.
  ~CredentialsKeeper();
  CredentialsKeeper(const CredentialsKeeper&) = delete;
  CredentialsKeeper& operator=(const CredentialsKeeper&) = delete;

  /// Calls `done` once: at once where good credentials are at hand, else on the keeper's thread.
  void get(Time now, Done done);
  /// The credentials were not accepted: new ones are got, where they can be.
  void distrust(const Shared& refused);

 private:
  Result<Leased> fetch() const;
  void run();
  void wake() WEIR_REQUIRES(mutex_);
  /// Those who wait, without the mutex.
  void tell(const Result<Shared>& result) WEIR_REQUIRES(mutex_);

  const Source source_;
  const Environment surroundings_;
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
  Time now_ WEIR_GUARDED_BY(mutex_) = 0;  ///< as last told
  std::vector<Done> waiting_ WEIR_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace weir::aws

// The credentials that requests are signed with: got when first needed, and again before they expire.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "aws/credentials_source.h"

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

  CredentialsKeeper(Source source, Surroundings surroundings, CredentialsOptions options = {});
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
  void wake();

  const Source source_;
  const Surroundings surroundings_;
  const CredentialsOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  Shared current_;
  Time expires_at_ = 0;
  Time tried_at_ = 0;
  std::optional<Error> failure_;
  bool wanted_ = false;
  bool fetching_ = false;
  bool ending_ = false;
  Time now_ = 0;  ///< as last told
  std::vector<Done> waiting_;
  std::thread thread_;
};

}  // namespace weir::aws

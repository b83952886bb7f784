// A bucket of S3, or of a server with the same API. Each region has one object, which is replaced under the
// condition that it has not changed.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "aws/endpoint.h"
#include "aws/s3_client.h"
#include "base/text.h"
#include "sync/exchange.h"
#include "sync/exchange_errors.h"
#include "sync/s3_url.h"
#include "wire/sigv4.h"

namespace weir::sync {
namespace {

using aws::S3Failure;
using aws::S3Object;
using S3Kind = S3Failure::Kind;
using Steady = std::chrono::steady_clock;

constexpr int most_attempts = 3;
/// Writes of one region whose outcome is unknown.
constexpr std::size_t most_doubts = 16;

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

class S3Exchange final : public Exchange {
 public:
  S3Exchange(const S3Url& url, aws::S3Options options, std::unique_ptr<aws::CredentialsKeeper> keeper)
      : prefix_(url.prefix.empty() ? std::string() : base::join(url.prefix, "/")),
        deadline_(url.deadline),
        client_(std::move(options), std::move(keeper), system_clock()) {}

  Result<std::optional<Object>> read(std::string_view region) override {
    return read(key_of(region), Steady::now() + deadline_);
  }

  Result<std::string> publish(std::string_view region, const std::string& bytes,
                              std::string_view expected) override {
    const auto ends = Steady::now() + deadline_;
    const std::string key = key_of(region);
    std::vector<std::string>& doubts = doubts_[std::string(region)];
    std::string tag(expected);
    for (int attempt = 1;; ++attempt) {
      auto put = client_.put(key, bytes, tag, ends);
      if (auto* const stored = std::get_if<std::string>(&put)) {
        doubts.clear();
        return std::move(*stored);
      }
      const auto& failure = std::get<S3Failure>(put);
      if (failure.kind == S3Kind::condition && doubts.empty()) return in_use(region);
      if (failure.kind != S3Kind::condition && failure.kind != S3Kind::unknown)
        return base::error(ErrorCode::unavailable, failure.message);
      if (failure.kind == S3Kind::unknown) remember(doubts, bytes);

      // The present object tells whether this write, or an earlier one in doubt, was carried out.
      auto present = read(key, ends);
      const Error unknown = base::error(ErrorCode::outcome_unknown, failure.message);
      if (!present) return failure.kind == S3Kind::unknown ? unknown : present.error();
      if (*present && (*present)->bytes == bytes) {
        doubts.clear();
        return std::move((*present)->tag);
      }
      std::string found = *present ? (*present)->tag : std::string();
      // An earlier write of this process may be there instead of what it replaced.
      if (found != tag && !(*present && is_in(doubts, (*present)->bytes))) return in_use(region);
      if (attempt == most_attempts) return failure.kind == S3Kind::unknown ? unknown : in_use(region);
      tag = std::move(found);
    }
  }

 private:
  std::string key_of(std::string_view region) const { return base::join(prefix_, region, "/snapshot.json"); }

  Result<std::optional<Object>> read(const std::string& key, Steady::time_point ends) {
    auto got = client_.get(key, ends);
    if (auto* const object = std::get_if<S3Object>(&got))
      return std::optional(Object{std::move(object->bytes), std::move(object->tag)});
    const auto& failure = std::get<S3Failure>(got);
    if (failure.kind == S3Kind::absent) return std::optional<Object>();
    if (failure.kind == S3Kind::too_large)
      return too_large(base::join("s3://", client_.options().bucket, "/", key));
    return base::error(ErrorCode::unavailable, failure.message);
  }

  static void remember(std::vector<std::string>& doubts, const std::string& bytes) {
    if (is_in(doubts, bytes)) return;
    if (doubts.size() == most_doubts) doubts.erase(doubts.begin());
    doubts.push_back(wire::aws::sha256_hex(bytes));
  }
  static bool is_in(const std::vector<std::string>& doubts, const std::string& bytes) {
    return !doubts.empty() &&
           std::find(doubts.begin(), doubts.end(), wire::aws::sha256_hex(bytes)) != doubts.end();
  }

  const std::string prefix_;  ///< with "/" at its end, or empty
  const std::chrono::milliseconds deadline_;
  aws::S3Client client_;
  /// By region: hashes of writes whose outcome is unknown, since the last one that is known.
  std::map<std::string, std::vector<std::string>, std::less<>> doubts_;
};

}  // namespace

Result<std::unique_ptr<Exchange>> open_s3(std::string_view url, const aws::Environment& machine) {
  auto parsed = parse_s3_url(url);
  if (!parsed) return parsed.error();
  auto options = s3_options(*parsed, machine);
  if (!options) return options.error();
  auto keeper = aws::find_credentials(options->endpoint.server, options->ca_file, machine);
  if (!keeper) return keeper.error();
  return std::unique_ptr<Exchange>(
      std::make_unique<S3Exchange>(*parsed, *std::move(options), *std::move(keeper)));
}

}  // namespace weir::sync

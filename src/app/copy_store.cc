#include "app/copy_store.h"

#include <map>
#include <memory>

#include "app/copy_check.h"
#include "app/store_url.h"
#include "app/url.h"
#include "base/text.h"
#include "limits/record.h"
#include "store/dynamodb/copy.h"
#include "store/redis/copy.h"
#include "store/sqlite/copy.h"

namespace weir::app {
namespace {

using base::join;

/// A copy from its begin to its end. The target has the name of the copy in between.
class Copy {
 public:
  Copy(store::CopyReader& source, store::CopyWriter& target, const std::string& name,
       const CopyOptions& options, const Clock& clock)
      : source_(source), target_(target), name_(name), options_(options), clock_(clock) {}

  Result<CopyReport> run() {
    const Time started = clock_.now();
    auto settings = source_.settings();
    if (!settings) return settings.error();
    scope_ = {options_.name_space, started, *settings};
    if (auto begun = begin(); !begun) return begun.error();
    if (auto copied = copy(); !copied) return copied.error();
    if (report_.stopped) return report_;
    if (report_.copied == CountsByKind() && !report_.resumed)
      return base::error(
          ErrorCode::not_found,
          "the source has nothing to copy; check its URL and prefix, and the namespace. The target "
          "has only the settings of the source");
    // Records that may expire during the comparison are not compared: it takes about as long as the copy.
    const Time now = clock_.now();
    // In whole seconds, to which DynamoDB rounds expiries: both stores then leave out the same records.
    scope_.alive_at = limits::whole_seconds(now + 2 * (now - started) + 1000);
    known_.clear();
    CopyProgress progress{.checking = true};
    auto differences = compare(source_, target_, scope_, [&](std::size_t records) {
      progress.records += records;
      if (options_.progress) options_.progress(progress);
    });
    if (!differences) return differences.error();
    report_.differences = *std::move(differences);
    if (!report_.differences.empty()) return report_;
    if (auto ended = target_.end(); !ended) return ended.error();
    return report_;
  }

 private:
  Result<void> begin() {
    auto found = target_.unfinished();
    if (!found) return found.error();
    if (found->empty()) {
      if (auto empty = check_empty(); !empty) return empty;
      return target_.begin(name_, scope_.settings);
    }
    if (*found != name_)
      return base::error(ErrorCode::conflict, "the target has an unfinished copy of another source (", *found,
                         "); finish that one, or empty the target");
    report_.resumed = true;
    auto settings = target_.settings();
    if (!settings) return settings.error();
    if (settings->lease_key != scope_.settings.lease_key)
      return base::error(ErrorCode::conflict,
                         "the source has another lease key than when the copy was begun, so it is another "
                         "store now; empty the target and copy again");
    return read_known();
  }

  /// Everything counts here, expired or not.
  Result<void> check_empty() {
    const store::CopyScope everything{.name_space = {}, .alive_at = 0, .settings = scope_.settings};
    std::string found;
    const auto read = target_.read(everything, [&](const std::vector<store::CopyRecord>& page) {
      found = described(page.front());
      return Result<void>(Error{ErrorCode::conflict, ""});
    });
    if (!found.empty())
      return base::error(
          ErrorCode::conflict, "the target is not empty: it has the ", found,
          ". A copy overwrites nothing; name an empty file, prefix or table, or empty this one");
    return read;
  }

  /// What an earlier run has copied.
  Result<void> read_known() {
    store::CopyScope everything = scope_;
    everything.name_space.clear();
    return target_.read(everything, [&](const std::vector<store::CopyRecord>& page) -> Result<void> {
      for (const store::CopyRecord& record : page)
        known_.emplace(fingerprint_of(key_of(record)), fingerprint_of(content_of(record)));
      return {};
    });
  }

  Result<void> copy() {
    CopyProgress progress;
    auto read = source_.read(scope_, [&](std::vector<store::CopyRecord> page) -> Result<void> {
      progress.records += page.size();
      if (auto put = put_new(std::move(page)); !put) return put;
      if (options_.progress) options_.progress(progress);
      report_.stopped = options_.stop && options_.stop();
      // Ends the read.
      return report_.stopped ? Result<void>(Error{ErrorCode::unavailable, ""}) : Result<void>();
    });
    return report_.stopped ? Result<void>() : read;
  }

  /// Writes the records that the target does not have.
  Result<void> put_new(std::vector<store::CopyRecord> page) {
    std::vector<store::CopyRecord> missing;
    for (store::CopyRecord& record : page) {
      if (!target_.fit(record)) {
        ++report_.left_out[record.kind()];
        continue;
      }
      ++report_.copied[record.kind()];
      const auto known = known_.empty() ? known_.end() : known_.find(fingerprint_of(key_of(record)));
      if (known == known_.end()) {
        missing.push_back(std::move(record));
      } else if (known->second != fingerprint_of(content_of(record))) {
        return base::error(
            ErrorCode::conflict, "the ", described(record),
            " has changed since the copy was begun: the source, or the target, was in use. Stop "
            "what uses it, empty the target and copy again");
      }
    }
    return missing.empty() ? Result<void>() : target_.put(missing);
  }

  store::CopyReader& source_;
  store::CopyWriter& target_;
  const std::string& name_;
  const CopyOptions& options_;
  const Clock& clock_;
  store::CopyScope scope_;
  std::map<Fingerprint, Fingerprint> known_;  ///< keys and contents in the target, where a copy is resumed
  CopyReport report_;
};

Result<std::unique_ptr<store::CopyWriter>> open_writer(const StoreUrl& url, const CopyOptions& options) {
  if (url.kind == StoreKind::sqlite) return sqlite::open_copy_writer(url.path, options.wait_for_file);
  if (url.kind == StoreKind::redis) {
    auto redis = redis_options(url.redis);
    if (!redis) return redis.error();
    auto opened = redis::RedisCopy::open(*redis);
    if (!opened) return opened.error();
    return std::unique_ptr<store::CopyWriter>(*std::move(opened));
  }
  auto opened = dynamodb::TableCopy::open(url.dynamodb);
  if (!opened) return opened.error();
  return std::unique_ptr<store::CopyWriter>(*std::move(opened));
}

Result<std::unique_ptr<store::CopyReader>> open_reader(const StoreUrl& url, const CopyOptions& options) {
  if (url.kind == StoreKind::sqlite) return sqlite::open_copy_reader(url.path, options.wait_for_file);
  auto opened = open_writer(url, options);
  if (!opened) return opened.error();
  return std::unique_ptr<store::CopyReader>(*std::move(opened));
}

/// `option`: of the command line.
Result<StoreUrl> read_url(std::string_view option, std::string_view url) {
  auto parsed = parse_store_url(url);
  if (!parsed) return base::error(parsed.error().code, option, ": ", parsed.error().message);
  if (parsed->kind != StoreKind::memory) return parsed;
  return base::invalid(option, ": a store in memory ends with its process, so there is nothing to copy; use ",
                       "sqlite:PATH, redis://HOST or dynamodb://TABLE");
}

}  // namespace

Result<CopyReport> copy_content(store::CopyReader& source, store::CopyWriter& target, const std::string& copy,
                                const CopyOptions& options, const Clock& clock) {
  return Copy(source, target, copy, options, clock).run();
}

Result<CopyReport> copy_store(std::string_view from, std::string_view to, const CopyOptions& options) {
  const auto source_url = read_url("--from", from);
  if (!source_url) return source_url.error();
  const auto target_url = read_url("--to", to);
  if (!target_url) return target_url.error();
  if (from == to) return base::invalid("--from and --to are the same store; name another one to copy into");
  auto source = open_reader(*source_url, options);
  if (!source) return base::error(source.error().code, "the source: ", source.error().message);
  auto target = open_writer(*target_url, options);
  if (!target) return base::error(target.error().code, "the target: ", target.error().message);
  const SystemClock clock;
  const std::string name =
      join(without_password(from), options.name_space.empty() ? "" : " namespace ", options.name_space);
  return copy_content(**source, **target, name, options, clock);
}

}  // namespace weir::app

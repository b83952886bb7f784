// The stores inside this process, and Redis, against the oracle.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "app/open_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "support/redis_server.h"
#include "twins/runner.h"

namespace weir::twins {
namespace {

class InMemory final : public Store {
 public:
  Result<Limiter> open(const Options& options) override { return Limiter::open("memory:", options); }
};

/// Files that never reach a disk: what is answered is compared here, not whether it survives a power loss.
std::string fast_folder() {
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 0);
  return "sqlite:";
}

/// A file. Limiters on it share it.
class InFile : public Store {
 public:
  Result<Limiter> open(const Options& options) override {
    clock_ = options.clock;
    return Limiter::open(url_, options);
  }

 protected:
  const std::string scheme_ = fast_folder();
  tests::Folder folder_;
  const std::string url_ = scheme_ + folder_.file("weir.db");
  const Clock* clock_ = nullptr;
};

/// A file whose buckets are never in memory for long: each operation has to find them in the file.
class OnlyInFile final : public InFile {
 public:
  void between() override {
    base::SystemEntropy entropy;
    const std::shared_ptr<const Clock> clock(std::shared_ptr<const Clock>(), clock_);
    auto store = app::open_store(url_, {}, clock, entropy);
    ASSERT_TRUE(store) << store.error().message;
    auto* const file = dynamic_cast<sqlite::SqliteStore*>(store->get());
    ASSERT_NE(file, nullptr);
    ASSERT_TRUE(file->let_go_of_buckets());
  }
};

/// A part of one server that nobody else uses.
class InRedis final : public Store {
 public:
  InRedis(tests::RedisServer& server, const std::string& more)
      : url_(server.patient_url() + "&prefix=world" + std::to_string(++made_) + more) {}
  Result<Limiter> open(const Options& options) override { return Limiter::open(url_, options); }

 private:
  static inline int made_ = 0;
  const std::string url_;
};

TEST(Twins, Memory) {
  run_twins({"memory", {.shared = false, .counts_usage = true}, [] { return std::make_unique<InMemory>(); }},
            700'000);
}

TEST(Twins, Sqlite) {
  run_twins({"sqlite", {.counts_usage = true}, [] { return std::make_unique<InFile>(); }}, 250'000);
}

TEST(Twins, SqliteOnlyFromFile) {
  run_twins({"sqlite only from file", {.counts_usage = true}, [] { return std::make_unique<OnlyInFile>(); }},
            25'000);
}

TEST(Twins, SqliteReopened) {
  run_twins(
      {"sqlite reopened", {.reopens = true, .counts_usage = true}, [] { return std::make_unique<InFile>(); }},
      25'000);
}

TEST(Twins, Redis) {
  tests::RedisServer server;
  run_twins({"redis",
             {.reopens = true, .counts_usage = true, .hears_later = true},
             [&] { return std::make_unique<InRedis>(server, ""); }},
            10'000);
}

// One limiter: what others charge meanwhile is not in the report of a refusal from memory. Forward only: what
// was seen last is told by its time.
TEST(Twins, RedisRefusingFromMemory) {
  tests::RedisServer server;
  run_twins({"redis refusing from memory",
             {.shared = false, .clock_goes_back = false, .counts_usage = true, .hears_later = true},
             [&] { return std::make_unique<InRedis>(server, "&refuse_ms=60000"); }},
            6'000);
}

}  // namespace
}  // namespace weir::twins

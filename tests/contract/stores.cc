#include "app/open_store.h"
#include "contract/contract.h"
#include "store/sqlite/sqlite_store.h"
#include "support/folder.h"
#include "support/redis_server.h"

namespace weir::contract {
namespace {

/// A store inside this process. It lives in the limiter that opened it, so every limiter is a new one.
class InProcess final : public StoreUnderTest {
 public:
  explicit InProcess(std::string url) : url_(std::move(url)) {}
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(url_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }
  const Clock& clock() const { return clock_; }

 private:
  std::string url_;
  FakeClock clock_;
};

/// A file. Limiters on it share it.
class InFile : public StoreUnderTest {
 public:
  Result<Limiter> open(const Options& options) override { return store_.open(options); }
  void advance(std::chrono::milliseconds by) override { store_.advance(by); }
  Time now() override { return store_.now(); }

 protected:
  tests::Folder folder_;
  const std::string url_ = "sqlite:" + folder_.file("weir.db");
  InProcess store_{url_};
};

/// A file whose buckets are never in memory for long: each operation has to find them in the file.
class OnlyInFile final : public InFile {
 public:
  void between() override {
    base::SystemEntropy entropy;
    const std::shared_ptr<const Clock> clock(std::shared_ptr<const Clock>(), &store_.clock());
    auto store = app::open_store(url_, {}, clock, entropy);
    ASSERT_TRUE(store) << store.error().message;
    auto* const file = dynamic_cast<sqlite::SqliteStore*>(store->get());
    ASSERT_NE(file, nullptr);
    ASSERT_TRUE(file->let_go_of_buckets());
  }
};

/// A Redis server of its own. Each limiter has its own connections and its own memory of limits, as if it
/// were another process.
class InRedis : public StoreUnderTest {
 public:
  explicit InRedis(const std::string& more = {}) : store_(server_.patient_url() + more) {}
  Result<Limiter> open(const Options& options) override { return store_.open(options); }
  void advance(std::chrono::milliseconds by) override { store_.advance(by); }
  Time now() override { return store_.now(); }

 protected:
  tests::RedisServer server_;
  InProcess store_;
};

}  // namespace

std::vector<StoreKind> stores() {
  return {{"memory", [] { return std::make_unique<InProcess>("memory:"); }},
          {"sqlite", [] { return std::make_unique<InFile>(); }},
          {"sqlite_only_in_file", [] { return std::make_unique<OnlyInFile>(); }},
          {"redis", [] { return std::make_unique<InRedis>(); }},
          // What one process does, it does not keep from itself.
          {"redis_refusing_from_memory", [] { return std::make_unique<InRedis>("&refuse_ms=60000"); }}};
}

}  // namespace weir::contract

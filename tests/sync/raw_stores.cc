#include "sync/raw_stores.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <optional>

#include "store/sqlite/database.h"
#include "support/folder.h"
#include "support/redis_server.h"

namespace weir::sync {
namespace {

/// One process owns the file, so the limiter is closed while another program uses it.
class RawSqlite final : public RawStore {
 public:
  RawSqlite() { open(); }
  Limiter& limiter() override { return *limiter_; }
  FakeClock& clock() override { return clock_; }
  void write() override {
    run("INSERT OR REPLACE INTO limits (namespace, entity, resource, limits, owner, from_file, stamp, "
        "earlier) "
        "VALUES ('default', 'key', 'gpt-4', '{\"rpm\":{\"capacity\":77}}', 'operator', 0, 1, '[]')");
  }
  void erase() override { run("DELETE FROM limits WHERE entity = 'key' AND resource = 'gpt-4'"); }
  std::string record() override {
    std::string text;
    run("SELECT limits || owner || stamp || coalesce(expires_at_ms, '') FROM limits WHERE entity = 'key'",
        &text);
    return text;
  }

 private:
  void open() {
    auto opened = Limiter::open("sqlite:" + path_, {.clock = &clock_});
    ASSERT_TRUE(opened) << opened.error().message;
    limiter_.emplace(*std::move(opened));
  }
  void run(const char* sql, std::string* answer = nullptr) {
    limiter_.reset();
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    const auto keep = [](void* into, int, char** columns, char**) {
      if (into != nullptr) *static_cast<std::string*>(into) = columns[0];
      return 0;
    };
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql, keep, answer, &error), SQLITE_OK) << error;
    sqlite3_free(error);
    sqlite3_close(database);
    open();
  }

  tests::Folder folder_;
  const std::string path_ = folder_.file("weir.db");
  FakeClock clock_{1'700'000'000'000};
  std::optional<Limiter> limiter_;
};

class RawRedis final : public RawStore {
 public:
  Limiter& limiter() override { return limiter_; }
  FakeClock& clock() override { return clock_; }
  void write() override {
    // Version, stamp, owner, expiry, three settings of the system, the number of limits, the limit, the
    // number of earlier versions.
    probe_.ask(
        {"HSET", catalog, field, "1 1 0 9223372036854775807 0 0 0 1 rpm 77000 77000 77000 60000 77 60 0"});
  }
  void erase() override { probe_.ask({"HDEL", catalog, field}); }
  std::string record() override { return probe_.ask({"HGET", catalog, field}); }

 private:
  static constexpr const char* catalog = "weir:{default}:catalog";
  static constexpr const char* field = "e key gpt-4";
  tests::RedisServer server_;
  tests::RedisProbe probe_{server_.port()};
  FakeClock clock_{1'700'000'000'000};
  Limiter limiter_ = *Limiter::open(server_.patient_url(), {.clock = &clock_});
};

}  // namespace

std::vector<RawKind> raw_stores() {
  return {{"sqlite", [] { return std::make_unique<RawSqlite>(); }},
          {"redis", [] { return std::make_unique<RawRedis>(); }}};
}

}  // namespace weir::sync

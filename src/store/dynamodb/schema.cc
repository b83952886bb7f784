#include "store/dynamodb/schema.h"

#include <chrono>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/description.h"
#include "store/dynamodb/templates.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::JsonWriter;
using Kind = aws::DynamoFailure::Kind;

std::string create_json(std::string_view table) {
  return JsonWriter::object()
      .text("TableName", table)
      .raw("AttributeDefinitions", attribute_definitions())
      .raw("KeySchema", key_schema("PK", "SK"))
      .raw("GlobalSecondaryIndexes", index_list())
      .text("BillingMode", "PAY_PER_REQUEST")
      .raw("StreamSpecification", R"({"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"})")
      .str();
}

/// Sleeps between two polls of a table's status.
void pause(std::chrono::milliseconds length) { std::this_thread::sleep_for(length); }

class TableCreator {
 public:
  TableCreator(aws::DynamoClient& client, std::string table, const Tell& progress,
               std::chrono::milliseconds patience)
      : client_(client),
        table_(std::move(table)),
        progress_(progress),
        ends_(std::chrono::steady_clock::now() + patience) {}

  Result<void> run() {
    auto described = client_.ask("DescribeTable", named(table_), true);
    if (!described.ok() && described.failure->kind == Kind::not_found) {
      say(join("making table ", table_));
      const auto made = client_.ask("CreateTable", create_json(table_), false);
      if (!made.ok() && made.failure->kind != Kind::exists && made.failure->kind != Kind::unknown)
        return aws::error_of(*made.failure);
    } else if (!described.ok()) {
      return aws::error_of(*described.failure);
    }
    if (auto ready = wait_until_ready(); !ready) return ready;
    if (auto added = add_indexes(); !added) return added;
    if (auto streaming = add_stream(); !streaming) return streaming;
    return add_expiry();
  }

 private:
  void say(const std::string& what) const {
    if (progress_) progress_(what);
  }
  Result<TableDescription> describe() {
    const auto described = client_.ask("DescribeTable", named(table_), true);
    if (!described.ok()) return aws::error_of(*described.failure);
    return read_table(described.body);
  }

  Result<void> wait_until_ready() {
    for (std::string said; std::chrono::steady_clock::now() < ends_; pause(pause_)) {
      auto table = describe();
      if (!table) return table.error();
      std::string state = join("table ", table_, " is ", table->status);
      bool ready = table->status == "ACTIVE";
      for (const auto& [name, index] : table->indexes) {
        if (index.first == "ACTIVE") continue;
        ready = false;
        state += join(", index ", name, " is ", index.first);
      }
      if (ready) return {};
      if (state != said) say(state);
      said = state;
      pause_ = std::min(2 * pause_, std::chrono::milliseconds(2000));
    }
    return base::error(ErrorCode::unavailable, "table ", table_,
                       " is not ready yet; run `weir store init` again later, it goes on from here");
  }

  Result<void> add_indexes() {
    for (const Index& index : indexes) {
      auto table = describe();
      if (!table) return table.error();
      if (!table->key_is_ours)
        return base::invalid("table ", base::quoted(table_),
                             " has other keys than PK and SK: it is not weir's; use another name");
      if (table->indexes.contains(std::string(index.name))) continue;
      say(join("adding index ", index.name));
      // DynamoDB allows only one at a time.
      const auto added =
          client_.ask("UpdateTable",
                      JsonWriter::object()
                          .text("TableName", table_)
                          .raw("AttributeDefinitions", attribute_definitions())
                          .raw("GlobalSecondaryIndexUpdates", join("[{\"Create\":", index_json(index), "}]"))
                          .str(),
                      false);
      if (!added.ok()) return aws::error_of(*added.failure);
      if (auto ready = wait_until_ready(); !ready) return ready;
    }
    return {};
  }

  Result<void> add_stream() {
    auto table = describe();
    if (!table) return table.error();
    if (!table->stream.empty()) return {};
    say("switching the stream on");
    const auto added = client_.ask(
        "UpdateTable",
        JsonWriter::object()
            .text("TableName", table_)
            .raw("StreamSpecification", R"({"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"})")
            .str(),
        false);
    if (!added.ok()) return aws::error_of(*added.failure);
    return wait_until_ready();
  }

  Result<void> add_expiry() {
    const auto described = client_.ask("DescribeTimeToLive", named(table_), true);
    if (!described.ok()) return aws::error_of(*described.failure);
    const TimeToLive ttl = read_ttl(described.body);
    if (ttl.status == "ENABLED" || ttl.status == "ENABLING") return {};
    say("switching expiry by ttl on");
    const auto added =
        client_.ask("UpdateTimeToLive",
                    JsonWriter::object()
                        .text("TableName", table_)
                        .raw("TimeToLiveSpecification", R"({"Enabled":true,"AttributeName":"ttl"})")
                        .str(),
                    false);
    if (!added.ok() && added.failure->kind != Kind::unknown) return aws::error_of(*added.failure);
    return {};
  }

  aws::DynamoClient& client_;
  const std::string table_;
  const Tell& progress_;
  const std::chrono::steady_clock::time_point ends_;
  std::chrono::milliseconds pause_{50};
};

}  // namespace

Result<void> make_table(aws::DynamoClient& client, const std::string& table, const Tell& progress,
                        std::chrono::milliseconds patience) {
  return TableCreator(client, table, progress, patience).run();
}

}  // namespace weir::dynamodb

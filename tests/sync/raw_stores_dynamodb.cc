#include "dynamodb/table.h"
#include "sync/raw_stores.h"

namespace weir::sync {
namespace {

class RawDynamoDb final : public RawStore {
 public:
  Limiter& limiter() override { return limiter_; }
  FakeClock& clock() override { return table_.clock; }
  void write() override {
    const std::string put =
        R"({"TableName":")" + table_.table +
        R"(","Item":{"PK":{"S":"ENTITY#key"},"SK":{"S":"#CONFIG#gpt-4"},"l_rpm_cp":{"N":"77"},)"
        R"("l_rpm_bx":{"N":"77"},"l_rpm_ra":{"N":"77"},"l_rpm_rp":{"N":"60"},"config_version":{"N":"1"},)"
        R"("GSI3PK":{"S":"ENTITY_CONFIG#gpt-4"},"GSI3SK":{"S":"key"}}})";
    EXPECT_TRUE(table_.client->ask("PutItem", put, true).ok());
  }
  void erase() override {
    const std::string gone = R"({"TableName":")" + table_.table +
                             R"(","Key":{"PK":{"S":"ENTITY#key"},"SK":{"S":"#CONFIG#gpt-4"}}})";
    EXPECT_TRUE(table_.client->ask("DeleteItem", gone, true).ok());
  }
  std::string record() override {
    std::string json;
    wire::aws::append_json(json, table_.item(dynamodb::level_key("default", Level::entity("key", "gpt-4"))));
    return json;
  }

 private:
  dynamodb::TestTable table_;
  Limiter limiter_ = table_.limiter();
};

}  // namespace

std::vector<RawKind> raw_stores() {
  return {{"dynamodb", [] { return std::make_unique<RawDynamoDb>(); }}};
}

}  // namespace weir::sync

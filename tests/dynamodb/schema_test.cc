// Making a table, looking it over, and what is printed for others to make it.
#include "store/dynamodb/schema.h"

#include <algorithm>

#include "app/check_store.h"
#include "app/make_store.h"
#include "aws/http_server_stub.h"
#include "dynamodb/table.h"
#include "store/dynamodb/check.h"
#include "store/dynamodb/templates.h"
#include "wire/json_reader.h"

namespace weir::dynamodb {
namespace {

bool is_json(const std::string& text) {
  wire::json::Reader reader(text);
  reader.skip();
  return reader.end();
}

const store::Finding* find(const std::vector<store::Finding>& findings, const std::string& what) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const auto& finding) { return finding.what == what; });
  return found == findings.end() ? nullptr : &*found;
}

TEST(Schema, ATableIsMadeOnceAndFoundSound) {
  tests::DynamoDbLocal& server = tests::DynamoDbLocal::shared();
  const std::string url = "dynamodb://" + server.table() + "?endpoint=" + server.url() + "&deadline_ms=60000";
  auto missing = app::check_store(url, {});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->at(0).severity, store::Severity::failure);
  EXPECT_NE(missing->at(0).detail.find("weir store init"), std::string::npos);
  const auto unopened = Limiter::open(url);
  ASSERT_FALSE(unopened);
  EXPECT_NE(unopened.error().message.find("weir store init"), std::string::npos);

  std::vector<std::string> said;
  ASSERT_TRUE(app::make_store(url, [&](const std::string& what) { said.push_back(what); }));
  EXPECT_FALSE(said.empty());
  ASSERT_TRUE(app::make_store(url, {})) << "again it changes nothing";
  ASSERT_TRUE(Limiter::open(url));
  const auto findings = app::check_store(url, {});
  ASSERT_TRUE(findings);
  for (const char* const what :
       {"table", "index GSI1", "index GSI2", "index GSI3", "stream", "expiry", "version", "clock"}) {
    const store::Finding* const finding = find(*findings, what);
    ASSERT_NE(finding, nullptr) << what;
    EXPECT_EQ(finding->severity, store::Severity::ok) << what << ": " << finding->detail;
  }
}

TEST(Schema, AnIndexThatProjectsEverythingIsFoundExpensive) {
  // A server of its own: one that has other tables with traffic may never get round to making an index.
  tests::DynamoDbLocal server;
  const std::string table = server.table();
  const SystemClock system;
  base::SystemEntropy entropy;
  const auto client = *connect({.table = table, .endpoint = server.url(), .deadline = 60s}, system, entropy);
  const std::string attributes =
      R"([{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"S"},)"
      R"({"AttributeName":"GSI2PK","AttributeType":"S"},{"AttributeName":"GSI2SK","AttributeType":"S"}])";
  ASSERT_TRUE(
      client
          ->ask(
              "CreateTable",
              R"({"TableName":")" + table + R"(","AttributeDefinitions":)" + attributes +
                  R"(,"KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],)"
                  R"("GlobalSecondaryIndexes":[{"IndexName":"GSI2","KeySchema":[{"AttributeName":"GSI2PK","KeyType":"HASH"},)"
                  R"({"AttributeName":"GSI2SK","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}],)"
                  R"("BillingMode":"PAY_PER_REQUEST"})",
              false)
          .ok());
  const auto before = check_table(*client, table, 2000);
  EXPECT_NE(find(before, "index GSI2")->detail.find("doubles"), std::string::npos);
  EXPECT_EQ(find(before, "index GSI1")->severity, store::Severity::warning);
  EXPECT_EQ(find(before, "stream")->severity, store::Severity::warning);
  EXPECT_EQ(find(before, "expiry")->severity, store::Severity::warning);
  ASSERT_TRUE(make_table(*client, table, {}));
  const auto after = check_table(*client, table, 2000);
  EXPECT_EQ(find(after, "index GSI1")->severity, store::Severity::ok);
  EXPECT_EQ(find(after, "stream")->severity, store::Severity::ok);
  EXPECT_EQ(find(after, "expiry")->severity, store::Severity::ok);
}

TEST(Schema, ATableOfSomebodyElseIsLeftAlone) {
  TestTable other;
  const std::string table = tests::DynamoDbLocal::shared().table();
  ASSERT_TRUE(
      other.client
          ->ask(
              "CreateTable",
              R"({"TableName":")" + table +
                  R"(","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],)"
                  R"("KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"})",
              false)
          .ok());
  const auto made = make_table(*other.client, table, {});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("not weir's"), std::string::npos);
}

TEST(Schema, TemplatesSayTheSame) {
  const std::string formation = cloudformation_template("weir");
  EXPECT_TRUE(is_json(formation)) << formation;
  const std::string terraform = terraform_template("weir");
  for (const std::string& text : {formation, terraform}) {
    for (const char* const part :
         {"weir", "GSI1", "GSI2", "GSI3", "KEYS_ONLY", "NEW_AND_OLD_IMAGES", "PAY_PER_REQUEST", "ttl"})
      EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(std::count(terraform.begin(), terraform.end(), '{'),
            std::count(terraform.begin(), terraform.end(), '}'));
  const std::string policy = iam_policy("weir", "eu-central-1", false);
  EXPECT_TRUE(is_json(policy));
  EXPECT_EQ(policy.find("CreateTable"), std::string::npos);
  EXPECT_NE(iam_policy("weir", "", true).find("CreateTable"), std::string::npos);
  EXPECT_FALSE(app::store_template("memory:", "iam"));
  EXPECT_TRUE(app::store_template("dynamodb://weir", "terraform"));
}

TEST(Schema, RightsThatAreMissingAreNamedAndLookingForThemChangesNothing) {
  TestTable table;
  EXPECT_EQ(check_rights(*table.client, table.table).severity, store::Severity::ok);
  const auto scanned =
      table.client->ask("Scan", R"({"TableName":")" + table.table + R"(","ConsistentRead":true})", true);
  ASSERT_TRUE(scanned.ok());
  EXPECT_TRUE(scanned.answer.items.empty());
  // A server that forbids two things.
  tests::HttpServerStub strict([](const tests::Asked& asked) -> tests::Answer {
    const std::string& target = asked.fields.at("x-amz-target");
    const bool forbidden = target.ends_with(".Scan") || target.ends_with(".DeleteItem");
    if (forbidden) return {400, R"({"__type":"x#AccessDeniedException","Message":"no"})"};
    if (target.ends_with("PutItem") || target.ends_with("UpdateItem"))
      return {400, R"({"__type":"x#ConditionalCheckFailedException","message":"no"})"};
    return {200, "{}"};
  });
  const SystemClock system;
  base::SystemEntropy entropy;
  auto client = connect({.table = "weir", .endpoint = strict.url(), .deadline = 5s}, system, entropy);
  ASSERT_TRUE(client);
  const store::Finding found = check_rights(**client, "weir");
  EXPECT_EQ(found.severity, store::Severity::failure);
  EXPECT_TRUE(found.detail.starts_with("dynamodb:Scan, dynamodb:DeleteItem not allowed")) << found.detail;
}

TEST(Schema, UrlsAreReadStrictly) {
  for (const char* const bad : {"dynamodb://", "dynamodb://ab", "dynamodb://we!r", "dynamodb://weir?nope=1",
                                "dynamodb://weir?deadline_ms=0", "dynamodb://weir?endpoint=nowhere",
                                "dynamodb://weir?settle=twice", "dynamodb://weir?region=%zz"})
    EXPECT_FALSE(app::store_template(bad, "iam")) << bad;
}

}  // namespace
}  // namespace weir::dynamodb

#include "store/dynamodb/schema.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "base/json.h"
#include "base/text.h"
#include "store/dynamodb/migrate.h"
#include "store/dynamodb/request.h"
#include "wire/json_reader.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::json_string;
using base::JsonWriter;
using Kind = aws::DynamoFailure::Kind;
using store::Severity;
using wire::json::Reader;

/// What DescribeTable says, as far as it matters here.
struct Table {
  std::string status;
  std::string billing;
  std::string stream;
  bool key_is_ours = false;
  std::map<std::string, std::pair<std::string, std::string>> indexes;  ///< name -> status, projection
};

void read_keys(Reader& reader, bool& ours) {
  int fitting = 0;
  int count = 0;
  for (reader.array(); reader.element(); ++count) {
    std::string member;
    std::string name;
    std::string type;
    for (reader.object(); reader.member(member);)
      member == "AttributeName" ? reader.string(name)
      : member == "KeyType"     ? reader.string(type)
                                : reader.skip();
    fitting += (name == "PK" && type == "HASH") || (name == "SK" && type == "RANGE") ? 1 : 0;
  }
  ours = fitting == 2 && count == 2;
}

void read_index(Reader& reader, Table& table) {
  std::string member;
  std::string name;
  std::string status;
  std::string projection;
  for (reader.object(); reader.member(member);) {
    if (member == "IndexName") {
      reader.string(name);
    } else if (member == "IndexStatus") {
      reader.string(status);
    } else if (member == "Projection") {
      for (reader.object(); reader.member(member);)
        member == "ProjectionType" ? reader.string(projection) : reader.skip();
    } else {
      reader.skip();
    }
  }
  table.indexes[name] = {status, projection};
}

/// The one text member of an object that is wanted.
void read_text_in(Reader& reader, std::string_view wanted, std::string& out) {
  std::string member;
  for (reader.object(); reader.member(member);) member == wanted ? reader.string(out) : reader.skip();
}

Table read_table(std::string_view body) {
  Table table;
  Reader reader(body);
  std::string member;
  for (reader.object(); reader.member(member);) {
    if (member != "Table" && member != "TableDescription") {
      reader.skip();
      continue;
    }
    for (reader.object(); reader.member(member);) {
      if (member == "TableStatus") {
        reader.string(table.status);
      } else if (member == "KeySchema") {
        read_keys(reader, table.key_is_ours);
      } else if (member == "GlobalSecondaryIndexes") {
        for (reader.array(); reader.element();) read_index(reader, table);
      } else if (member == "BillingModeSummary") {
        read_text_in(reader, "BillingMode", table.billing);
      } else if (member == "StreamSpecification") {
        read_text_in(reader, "StreamViewType", table.stream);
      } else {
        reader.skip();
      }
    }
  }
  return table;
}

struct TimeToLive {
  std::string status;
  std::string attribute;
};

TimeToLive read_ttl(std::string_view body) {
  TimeToLive ttl;
  Reader reader(body);
  std::string member;
  for (reader.object(); reader.member(member);) {
    if (member != "TimeToLiveDescription") {
      reader.skip();
      continue;
    }
    for (reader.object(); reader.member(member);)
      member == "TimeToLiveStatus" ? reader.string(ttl.status)
      : member == "AttributeName"  ? reader.string(ttl.attribute)
                                   : reader.skip();
  }
  return ttl;
}

std::string key_schema(std::string_view pk, std::string_view sk) {
  return join(R"([{"AttributeName":")", pk, R"(","KeyType":"HASH"},{"AttributeName":")", sk,
              R"(","KeyType":"RANGE"}])");
}

std::string attribute_definitions() {
  auto list = JsonWriter::array();
  const auto add = [&](std::string_view name) {
    list.add(join(R"({"AttributeName":")", name, R"(","AttributeType":"S"})"));
  };
  add("PK");
  add("SK");
  for (const Index& index : indexes) {
    add(index.pk);
    add(index.sk);
  }
  return list.str();
}

std::string index_json(const Index& index) {
  return join(R"({"IndexName":")", index.name, R"(","KeySchema":)", key_schema(index.pk, index.sk),
              R"(,"Projection":{"ProjectionType":")", index.all ? "ALL" : "KEYS_ONLY", R"("}})");
}

std::string index_list() {
  auto list = JsonWriter::array();
  for (const Index& index : indexes) list.add(index_json(index));
  return list.str();
}

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

std::string named(std::string_view table) { return join("{\"TableName\":", json_string(table), "}"); }

/// Waits a little before it is asked again how far a table is.
void pause(std::chrono::milliseconds length) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, length);
}

class Making {
 public:
  Making(aws::DynamoClient& client, const std::string& table, const Tell& progress,
         std::chrono::milliseconds patience)
      : client_(client),
        table_(table),
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
  Result<Table> describe() {
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
      // One at a time is what DynamoDB allows.
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
  return Making(client, table, progress, patience).run();
}

std::string cloudformation_template(std::string_view table) {
  auto properties = JsonWriter::object();
  properties.text("TableName", table)
      .raw("AttributeDefinitions", attribute_definitions())
      .raw("KeySchema", key_schema("PK", "SK"))
      .raw("GlobalSecondaryIndexes", index_list())
      .text("BillingMode", "PAY_PER_REQUEST")
      .raw("StreamSpecification", R"({"StreamViewType":"NEW_AND_OLD_IMAGES"})")
      .raw("TimeToLiveSpecification", R"({"AttributeName":"ttl","Enabled":true})")
      .raw("PointInTimeRecoverySpecification", R"({"PointInTimeRecoveryEnabled":true})");
  const std::string resource = JsonWriter::object()
                                   .text("Type", "AWS::DynamoDB::Table")
                                   .text("DeletionPolicy", "Retain")
                                   .text("UpdateReplacePolicy", "Retain")
                                   .raw("Properties", properties.str())
                                   .str();
  return JsonWriter::object()
      .text("AWSTemplateFormatVersion", "2010-09-09")
      .text("Description", "The table of weir, a rate limiter")
      .raw("Resources", join("{\"WeirTable\":", resource, "}"))
      .raw(
          "Outputs",
          R"({"TableName":{"Value":{"Ref":"WeirTable"}},"StreamArn":{"Value":{"Fn::GetAtt":["WeirTable","StreamArn"]}}})")
      .str();
}

std::string terraform_template(std::string_view table) {
  std::string text = join(
      "# The table of weir, a rate limiter.\nresource \"aws_dynamodb_table\" \"weir\" {\n  name             "
      "= ",
      json_string(table),
      "\n  billing_mode     = \"PAY_PER_REQUEST\"\n  hash_key         = \"PK\"\n  range_key        = \"SK\"\n"
      "  stream_enabled   = true\n  stream_view_type = \"NEW_AND_OLD_IMAGES\"\n");
  const auto attribute = [&](std::string_view name) {
    text += join("\n  attribute {\n    name = \"", name, "\"\n    type = \"S\"\n  }\n");
  };
  attribute("PK");
  attribute("SK");
  for (const Index& index : indexes) {
    attribute(index.pk);
    attribute(index.sk);
  }
  for (const Index& index : indexes) {
    text += join("\n  global_secondary_index {\n    name            = \"", index.name,
                 "\"\n    hash_key        = \"", index.pk, "\"\n    range_key       = \"", index.sk,
                 "\"\n    projection_type = \"", index.all ? "ALL" : "KEYS_ONLY", "\"\n  }\n");
  }
  text +=
      "\n  ttl {\n    attribute_name = \"ttl\"\n    enabled        = true\n  }\n"
      "\n  point_in_time_recovery {\n    enabled = true\n  }\n"
      "\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n";
  return text;
}

std::string iam_policy(std::string_view table, std::string_view region, bool to_make_it) {
  const std::string arn = join("arn:aws:dynamodb:", region.empty() ? "*" : region, ":*:table/", table);
  auto actions = JsonWriter::array();
  for (const char* const action :
       {"BatchGetItem", "BatchWriteItem", "ConditionCheckItem", "DeleteItem", "DescribeTable",
        "DescribeTimeToLive", "GetItem", "PutItem", "Query", "Scan", "UpdateItem"})
    actions.add(json_string(join("dynamodb:", action)));
  if (to_make_it) {
    for (const char* const action : {"CreateTable", "UpdateTable", "UpdateTimeToLive"})
      actions.add(json_string(join("dynamodb:", action)));
  }
  const std::string statement =
      JsonWriter::object()
          .text("Effect", "Allow")
          .raw("Action", actions.str())
          .raw("Resource", join("[", json_string(arn), ",", json_string(arn + "/index/*"), "]"))
          .str();
  return JsonWriter::object().text("Version", "2012-10-17").raw("Statement", join("[", statement, "]")).str();
}

store::Finding check_rights(aws::DynamoClient& client, const std::string& table) {
  // Nothing has this key: writes fail by their condition, and a delete without one finds nothing.
  const Key nobody{"LIST#CHECK", "nobody"};
  const auto write = [&](ItemWrite::Kind kind) {
    ItemWrite one{.kind = kind, .key = nobody, .item = nobody.item()};
    one.expression.condition(join("attribute_exists(", one.expression.name("PK"), ")"));
    if (kind == ItemWrite::Kind::update) one.expression.set("at", Value::of(std::int64_t{0}));
    return one;
  };
  const ItemWrite check = write(ItemWrite::Kind::check);
  const ItemWrite erased = erase(nobody);
  const std::pair<std::string_view, Request> requests[] = {
      {"BatchGetItem", batch_get(table, std::span(&nobody, 1))},
      {"Query", query(table, {.pk = nobody.pk, .limit = 1})},
      {"Scan", {"Scan", join("{\"TableName\":", json_string(table), ",\"Limit\":1}")}},
      {"PutItem", single_write(table, write(ItemWrite::Kind::put))},
      {"UpdateItem", single_write(table, write(ItemWrite::Kind::update))},
      {"DeleteItem", single_write(table, write(ItemWrite::Kind::erase))},
      {"ConditionCheckItem", transaction(table, std::span(&check, 1), {})},
      {"BatchWriteItem", batch_write(table, std::span(&erased, 1))}};
  std::string missing;
  for (const auto& [right, request] : requests) {
    const auto asked = client.ask(request.operation, request.json, true);
    if (asked.ok() || asked.failure->kind == Kind::condition) continue;
    if (asked.failure->kind != Kind::denied)
      return {Severity::failure, "rights", join(right, ": ", aws::error_of(*asked.failure).message)};
    missing += join(missing.empty() ? "" : ", ", "dynamodb:", right);
  }
  if (missing.empty()) return {Severity::ok, "rights", "all that decisions and changes take"};
  return {Severity::failure, "rights",
          join(missing, " not allowed; `weir store init --template iam` prints what is needed")};
}

std::vector<store::Finding> check_table(aws::DynamoClient& client, const std::string& table_name,
                                        Time clock_bound) {
  std::vector<store::Finding> findings;
  const auto find = [&](Severity severity, std::string what, std::string detail) {
    findings.push_back({severity, std::move(what), std::move(detail)});
  };
  const auto described = client.ask("DescribeTable", named(table_name), true);
  if (!described.ok()) {
    find(Severity::failure, "table", aws::error_of(*described.failure).message);
    return findings;
  }
  const Table table = read_table(described.body);
  find(table.status == "ACTIVE" ? Severity::ok : Severity::failure, "table",
       join(table_name, " is ", table.status));
  if (!table.key_is_ours)
    find(Severity::failure, "keys",
         "the keys are not PK and SK: this is not a table of weir; use another name");
  for (const Index& index : indexes) {
    const auto found = table.indexes.find(std::string(index.name));
    if (found == table.indexes.end()) {
      find(Severity::warning, join("index ", index.name), "is missing; `weir store init` adds it");
    } else if (!index.all && found->second.second == "ALL") {
      find(Severity::warning, join("index ", index.name),
           "projects all attributes, which doubles the cost of every charge; KEYS_ONLY is enough");
    } else {
      find(Severity::ok, join("index ", index.name), found->second.second);
    }
  }
  if (table.billing == "PAY_PER_REQUEST") {
    find(Severity::ok, "billing", "by request");
  } else {
    find(Severity::warning, "billing", "provisioned capacity: decisions fail while it is used up");
  }
  find(table.stream == "NEW_AND_OLD_IMAGES" ? Severity::ok : Severity::warning, "stream",
       table.stream.empty() ? "is off: usage cannot be collected; `weir store init` switches it on"
                            : table.stream);
  const auto ttl_asked = client.ask("DescribeTimeToLive", named(table_name), true);
  if (!ttl_asked.ok()) {
    find(Severity::warning, "expiry", aws::error_of(*ttl_asked.failure).message);
  } else {
    const TimeToLive ttl = read_ttl(ttl_asked.body);
    const bool on = (ttl.status == "ENABLED" || ttl.status == "ENABLING") && ttl.attribute == "ttl";
    find(on ? Severity::ok : Severity::warning, "expiry",
         on ? "by ttl" : "is off: unused buckets stay and cost storage; `weir store init` switches it on");
  }
  findings.push_back(check_rights(client, table_name));
  const Key key = version_key();
  const auto version = client.ask("BatchGetItem", batch_get(table_name, std::span(&key, 1)).json, true);
  if (!version.ok()) {
    find(Severity::failure, "version", aws::error_of(*version.failure).message);
  } else if (version.answer.items.empty()) {
    find(Severity::warning, "version",
         "there is no version record yet; the first program that opens it writes one");
  } else {
    const auto number = wire::aws::integer_of(version.answer.items[0], "schema_version").value_or(0);
    find(number == schema_version ? Severity::ok : Severity::failure, "version",
         join("schema ", std::to_string(number),
              number == schema_version ? "" : ", which this weir does not know"));
    const std::string_view state = wire::aws::text_of(version.answer.items[0], "migration");
    if (state == migration::pending || state == migration::running) {
      find(Severity::warning, "migration",
           join("is ", state,
                ": buckets that are not found are looked for as legacy items, which costs a read; ",
                "see `weir store migrate`"));
    } else {
      find(Severity::ok, "migration", std::string(state));
    }
  }
  const Time skew = client.skew();
  const Time differ = skew < 0 ? -skew : skew;
  find(differ <= clock_bound ? Severity::ok : Severity::failure, "clock",
       differ == 0 ? "agrees with DynamoDB's"
                   : join("differs from DynamoDB's by at least ", std::to_string(differ), " ms",
                          differ > clock_bound ? "; set it right" : ""));
  find(Severity::warning, "guarantee",
       join("clocks of all programs on the table must agree to ", std::to_string(clock_bound),
            " ms; by what they differ, and a write takes, a burst can grow"));
  return findings;
}

}  // namespace weir::dynamodb

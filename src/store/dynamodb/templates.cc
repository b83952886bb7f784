#include "store/dynamodb/templates.h"

#include "base/json.h"
#include "base/text.h"

namespace weir::dynamodb {
namespace {

using base::join;
using base::json_string;
using base::JsonWriter;

std::string arn_of(std::string_view table, std::string_view region) {
  return join("arn:aws:dynamodb:", region.empty() ? "*" : region, ":*:table/", table);
}

/// One statement of a policy: the actions of DynamoDB on the resources.
std::string allow(std::initializer_list<std::string_view> actions,
                  std::initializer_list<std::string> resources) {
  auto of_it = JsonWriter::array();
  for (const std::string_view action : actions) of_it.add(json_string(join("dynamodb:", action)));
  auto on = JsonWriter::array();
  for (const std::string& resource : resources) on.add(json_string(resource));
  return JsonWriter::object()
      .text("Effect", "Allow")
      .raw("Action", of_it.str())
      .raw("Resource", on.str())
      .str();
}

}  // namespace

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
  const std::string arn = arn_of(table, region);
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

std::string aggregate_policy(std::string_view table, std::string_view region) {
  const std::string arn = arn_of(table, region);
  const std::string on_table =
      allow({"BatchGetItem", "DeleteItem", "DescribeTable", "Query", "UpdateItem"}, {arn});
  const std::string on_index = allow({"Query"}, {arn + "/index/GSI2"});
  const std::string on_stream =
      allow({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}, {arn + "/stream/*"});
  return JsonWriter::object()
      .text("Version", "2012-10-17")
      .raw("Statement", join("[", on_table, ",", on_index, ",", on_stream, "]"))
      .str();
}

}  // namespace weir::dynamodb

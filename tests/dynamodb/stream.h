// The writes to an item, one by one, as the table's stream has them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "dynamodb/table.h"
#include "net/http_client.h"
#include "wire/json_reader.h"

namespace weir::dynamodb {

/// Reads the stream of a table from its beginning.
class Stream {
 public:
  explicit Stream(const std::string& table)
      : client_({.host = "127.0.0.1",
                 .port = tests::DynamoDbLocal::shared().port(),
                 .timeout = std::chrono::seconds(60)}) {
    const std::string arn = text_in(ask("ListStreams", R"({"TableName":")" + table + "\"}"), "StreamArn");
    const std::string of_stream = R"({"StreamArn":)" + base::json_string(arn);
    const std::string described = ask("DescribeStream", of_stream + "}");
    for (std::size_t at = 0; (at = described.find("\"ShardId\"", at)) != std::string::npos; ++at) {
      const std::string shard = text_in(described.substr(at), "ShardId");
      read_shard(
          text_in(ask("GetShardIterator", of_stream + R"(,"ShardIteratorType":"TRIM_HORIZON","ShardId":)" +
                                              base::json_string(shard) + "}"),
                  "ShardIterator"));
    }
  }
  /// Every image that a bucket had, in order; empty where it was deleted.
  std::vector<Item> images_of(const Key& key) const {
    std::vector<Item> images;
    for (const auto& [of, image] : records_) {
      if (of == key) images.push_back(image);
    }
    return images;
  }

 private:
  std::string ask(const std::string& operation, const std::string& request) {
    auto answered = client_.ask(
        {.method = wire::http::Method::post,
         .target = "/",
         .fields = "X-Amz-Target: DynamoDBStreams_20120810." + operation +
                   "\r\nContent-Type: application/x-amz-json-1.0\r\nAuthorization: AWS4-HMAC-SHA256 "
                   "Credential=local/20330101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, "
                   "Signature=0\r\n",
         .body = request,
         .repeatable = true});
    const auto* const answer = std::get_if<net::HttpAnswer>(&answered);
    EXPECT_TRUE(answer != nullptr && answer->status == 200) << operation << (answer ? answer->body : "");
    return answer == nullptr ? std::string() : answer->body;
  }
  /// The first text of that name, wherever it is.
  static std::string text_in(const std::string& json, const std::string& name) {
    const std::size_t at = json.find('"' + name + "\":");
    std::string text;
    if (at == std::string::npos) return text;
    wire::json::Reader reader(std::string_view(json).substr(at + name.size() + 3));
    reader.string(text);
    return text;
  }
  void read_shard(std::string iterator) {
    for (std::size_t before = 0; !iterator.empty();) {
      const std::string answer =
          ask("GetRecords", R"({"ShardIterator":)" + base::json_string(iterator) + "}");
      wire::json::Reader reader(answer);
      std::string member;
      iterator.clear();
      before = records_.size();
      for (reader.object(); reader.member(member);) {
        if (member == "NextShardIterator") {
          reader.string(iterator);
        } else if (member == "Records") {
          for (reader.array(); reader.element();) read_record(reader);
        } else {
          reader.skip();
        }
      }
      EXPECT_TRUE(reader.end()) << answer.substr(0, 2000);
      // The one that is still written to never ends.
      if (records_.size() == before) return;
    }
  }
  void read_record(wire::json::Reader& reader) {
    std::string member;
    Item keys;
    Item image;
    for (reader.object(); reader.member(member);) {
      if (member != "dynamodb") {
        reader.skip();
        continue;
      }
      for (reader.object(); reader.member(member);) {
        // Keys come first. Of others than buckets DynamoDB Local does not write everything as it should be.
        member == "Keys"                                                     ? wire::aws::read(reader, keys)
        : member == "NewImage" && key_of(keys).sk.starts_with(bucket_prefix) ? wire::aws::read(reader, image)
                                                                             : reader.skip();
      }
    }
    records_.emplace_back(key_of(keys), std::move(image));
  }

  net::HttpClient client_;
  std::vector<std::pair<Key, Item>> records_;
};

}  // namespace weir::dynamodb

#include "store/dynamodb/description.h"

#include "base/json.h"
#include "base/text.h"
#include "wire/json_reader.h"

namespace weir::dynamodb {
namespace {

using wire::json::Reader;

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

void read_index(Reader& reader, TableDescription& table) {
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

/// Reads the text member `wanted` of an object.
void read_text_in(Reader& reader, std::string_view wanted, std::string& out) {
  std::string member;
  for (reader.object(); reader.member(member);) member == wanted ? reader.string(out) : reader.skip();
}

}  // namespace

std::string named(std::string_view table) {
  return base::join("{\"TableName\":", base::json_string(table), "}");
}

TableDescription read_table(std::string_view body) {
  TableDescription table;
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
      } else if (member == "LatestStreamArn") {
        reader.string(table.stream_arn);
      } else if (member == "StreamSpecification") {
        read_text_in(reader, "StreamViewType", table.stream);
      } else {
        reader.skip();
      }
    }
  }
  return table;
}

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

}  // namespace weir::dynamodb

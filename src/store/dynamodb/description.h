// What DynamoDB says of a table.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace weir::dynamodb {

/// The request that says no more than which table is meant.
std::string named(std::string_view table);

/// What DescribeTable says, as far as it matters here.
struct TableDescription {
  std::string status;
  std::string billing;
  std::string stream;
  bool key_is_ours = false;
  std::map<std::string, std::pair<std::string, std::string>> indexes;  ///< name -> status, projection
};

/// From the answer to DescribeTable, CreateTable or UpdateTable.
TableDescription read_table(std::string_view body);

/// What DescribeTimeToLive says.
struct TimeToLive {
  std::string status;
  std::string attribute;
};

TimeToLive read_ttl(std::string_view body);

}  // namespace weir::dynamodb

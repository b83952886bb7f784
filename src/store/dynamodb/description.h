// The description of a table by DynamoDB.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace weir::dynamodb {

/// A request that contains only the name of the table.
std::string named(std::string_view table);

/// The relevant part of DescribeTable.
struct TableDescription {
  std::string status;
  std::string billing;
  std::string stream;      ///< what its records hold
  std::string stream_arn;  ///< of the stream that is on, or was last
  bool key_is_ours = false;
  std::map<std::string, std::pair<std::string, std::string>> indexes;  ///< name -> status, projection
};

/// From the answer to DescribeTable, CreateTable or UpdateTable.
TableDescription read_table(std::string_view body);

/// The answer to DescribeTimeToLive.
struct TimeToLive {
  std::string status;
  std::string attribute;
};

TimeToLive read_ttl(std::string_view body);

}  // namespace weir::dynamodb

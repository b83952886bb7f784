// The schema of the table, and its creation.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "aws/dynamo_client.h"
#include "weir/result.h"

namespace weir::dynamodb {

/// The version of the items. A table whose version record has a higher one is refused.
inline constexpr int schema_version = 2;

/// One of the three indexes.
struct Index {
  std::string_view name;
  std::string_view pk;
  std::string_view sk;
  bool all;  ///< projects every attribute; else only the keys, which costs half of every charge
};
inline constexpr Index indexes[] = {{"GSI1", "GSI1PK", "GSI1SK", true},
                                    {"GSI2", "GSI2PK", "GSI2SK", false},
                                    {"GSI3", "GSI3PK", "GSI3SK", false}};

/// Called with each step: "table weir is CREATING".
using Tell = std::function<void(const std::string& what)>;

/// Creates table, indexes, stream and expiry where they are missing, and waits until they are active.
/// Existing ones stay unchanged. Blocks, at most `patience`.
Result<void> make_table(aws::DynamoClient& client, const std::string& table, const Tell& progress,
                        std::chrono::milliseconds patience = std::chrono::minutes(10));

}  // namespace weir::dynamodb

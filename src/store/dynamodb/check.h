// Checks a table.
#pragma once

#include <string>
#include <vector>

#include "aws/dynamo_client.h"
#include "store/finding.h"

namespace weir::dynamodb {

/// Checks the permissions for decisions and changes: tries each kind of request in a way that changes
/// nothing.
store::Finding check_rights(aws::DynamoClient& client, const std::string& table);

/// Reads the records of a table, up to a bound on the cost, and adds a finding for each that cannot be used.
void check_records(aws::DynamoClient& client, const std::string& table,
                   std::vector<store::Finding>& findings);

/// Checks a table without changing it.
std::vector<store::Finding> check_table(aws::DynamoClient& client, const std::string& table,
                                        Time clock_bound);

}  // namespace weir::dynamodb

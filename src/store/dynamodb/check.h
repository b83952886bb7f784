// Whether a table is as it should be.
#pragma once

#include <string>
#include <vector>

#include "aws/dynamo_client.h"
#include "store/finding.h"

namespace weir::dynamodb {

/// Whether we may do what decisions and changes take: asks for each, in such a way that nothing is changed.
store::Finding check_rights(aws::DynamoClient& client, const std::string& table);

/// Looks a table over without changing it.
std::vector<store::Finding> check_table(aws::DynamoClient& client, const std::string& table,
                                        Time clock_bound);

}  // namespace weir::dynamodb

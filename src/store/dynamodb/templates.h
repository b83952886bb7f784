// The table for others to make: texts for CloudFormation, Terraform and IAM.
#pragma once

#include <string>
#include <string_view>

#include "store/dynamodb/schema.h"

namespace weir::dynamodb {

/// The parts of a request that makes a table, as JSON.
std::string key_schema(std::string_view pk, std::string_view sk);
std::string attribute_definitions();
std::string index_json(const Index& index);
std::string index_list();

/// What make_table() makes, for others to carry out.
std::string cloudformation_template(std::string_view table);
std::string terraform_template(std::string_view table);
/// The rights that weir needs, as a policy of IAM: to decide and change, or to make the table too.
std::string iam_policy(std::string_view table, std::string_view region, bool to_make_it);

}  // namespace weir::dynamodb

// Templates of the table for CloudFormation and Terraform, and a policy for IAM.
#pragma once

#include <string>
#include <string_view>

#include "store/dynamodb/schema.h"

namespace weir::dynamodb {

/// The parts of a CreateTable request, as JSON.
std::string key_schema(std::string_view pk, std::string_view sk);
std::string attribute_definitions();
std::string index_json(const Index& index);
std::string index_list();

/// Templates of what make_table() creates.
std::string cloudformation_template(std::string_view table);
std::string terraform_template(std::string_view table);
/// The permissions that weir needs, as an IAM policy: to decide and change, or to create the table too.
std::string iam_policy(std::string_view table, std::string_view region, bool to_make_it);
/// The permissions that `weir aggregate` needs, alone or as a function of Lambda.
std::string aggregate_policy(std::string_view table, std::string_view region);

}  // namespace weir::dynamodb

// The places in a request to a model where a client may put a key, or say whom the vendor bills.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/http_message.h"

namespace weir::gateway {

/// The fields in which clients of vendors send a key.
bool is_model_key(std::string_view name);

/// Fields that choose an organization or a project of the key.
bool is_model_account(std::string_view name);

/// Fields that ask for another method than that of the request line.
bool is_other_method(std::string_view name);

/// How many keys a request has.
std::size_t keys_in(const wire::http::Fields& fields);
std::size_t keys_in_query(std::string_view query);

/// The query without the parameters that have a key.
std::string query_without_keys(std::string_view query);

}  // namespace weir::gateway

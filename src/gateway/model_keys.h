// The places in a request to a model where a client may put a key, say whom the vendor bills, or ask for an
// answer that does not show what it used.
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

/// The field that says which members the answer of Google's servers has.
bool is_field_mask(std::string_view name);

/// How many keys a request has.
std::size_t keys_in(const wire::http::Fields& fields);
std::size_t keys_in_query(std::string_view query);

/// Whether the query asks for an answer in which no usage can be read. Google's servers can send others than
/// JSON and events.
bool asks_for_unreadable_form(std::string_view query);

struct QueryRules {
  bool drops_keys = false;     ///< the gateway has a key of its own
  bool counts_tokens = false;  ///< the answer must show what it used
};

/// The query without the parameters that are not for the vendor.
std::string query_for_vendor(std::string_view query, const QueryRules& rules);

}  // namespace weir::gateway

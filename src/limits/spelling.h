// The short form that a misspelt limit probably means.
#pragma once

#include <string>
#include <string_view>

namespace weir::limits {

/// "write 10/min" for "10 per minute", to end a message with; empty if the text is not understood. Whether
/// the limit that is suggested is valid is not checked.
std::string spelling_advice(std::string_view text);

}  // namespace weir::limits

// The XML that services of AWS answer with, as far as it is read: single elements without attributes.
#pragma once

#include <string_view>

namespace weir::aws {

/// The text between the first <name> and the next </name>; empty if there is none. Escapes stay as they are.
std::string_view element_of(std::string_view xml, std::string_view name);

}  // namespace weir::aws

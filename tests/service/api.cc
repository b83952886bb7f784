#include "service/api.h"

#include <simdjson.h>

namespace weir::service {

std::string Seen::at(std::string_view pointer) const {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(body).get(document) != simdjson::SUCCESS) return "not JSON: " + body;
  simdjson::dom::element element;
  if (document.at_pointer(pointer).get(element) != simdjson::SUCCESS) return "none";
  return simdjson::minify(element);
}

}  // namespace weir::service

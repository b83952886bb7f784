#include "aws/xml.h"

#include <string>

#include "base/text.h"

namespace weir::aws {

std::string_view element_of(std::string_view xml, std::string_view name) {
  const std::string open = base::join("<", name, ">");
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  xml.remove_prefix(begin + open.size());
  const std::size_t end = xml.find(base::join("</", name, ">"));
  return end == std::string_view::npos ? std::string_view() : xml.substr(0, end);
}

}  // namespace weir::aws

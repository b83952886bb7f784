// The body of POST /v1/changes. A client can write a body that was accepted again, and then it means the
// same.
#include <cstdlib>
#include <string_view>

#include "client/bodies.h"
#include "service/changes.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = weir::service::parse_changes(text);
  if (!parsed.ok()) return 0;
  const std::string said = weir::client::changes_body(parsed.value);
  const auto again = weir::service::parse_changes(said);
  if (!again.ok() || weir::client::changes_body(again.value) != said) std::abort();
  return 0;
}

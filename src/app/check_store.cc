#include "app/check_store.h"

#include "base/text.h"

namespace weir::app {

Result<std::vector<Finding>> check_store(std::string_view url, const Options& /*options*/) {
  if (url == "memory:" || url == "memory") {
    return std::vector<Finding>{{Severity::warning, "memory: forgets everything when the program ends",
                                 "use sqlite:PATH to keep it"}};
  }
  return base::invalid("store ", base::quoted(url), " is not known; use memory:");
}

}  // namespace weir::app

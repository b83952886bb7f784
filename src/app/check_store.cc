#include "app/check_store.h"

#include <filesystem>

#include "base/text.h"

namespace weir::app {

Result<std::vector<Finding>> check_store(std::string_view url, const Options& options) {
  if (url == "memory:" || url == "memory") {
    return std::vector<Finding>{
        {Severity::warning, "memory: forgets everything when the program ends", "use sqlite:PATH to keep it"}};
  }
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with(sqlite) && !std::filesystem::exists(url.substr(sqlite.size()))) {
    return std::vector<Finding>{{Severity::failure, base::join("there is no file ", url.substr(sqlite.size())),
                                 "make it with: weir store init"}};
  }
  const auto opened = Limiter::open(url, options);
  if (opened) return std::vector<Finding>{{Severity::ok, "the store can be opened", ""}};
  if (opened.error().code == ErrorCode::invalid_argument) return opened.error();
  return std::vector<Finding>{{Severity::failure, "the store cannot be opened", opened.error().message}};
}

}  // namespace weir::app

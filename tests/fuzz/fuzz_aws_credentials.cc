// Answers of the services that issue credentials, files of profiles, and URLs of endpoints.
#include <cstdlib>
#include <string_view>

#include "aws/credentials_source.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir::aws;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto require_keys = [](const auto& read) {
    if (read && (read->credentials.access_key_id.empty() || read->credentials.secret_access_key.empty()))
      std::abort();
  };
  switch (data[0] % 4) {
    case 0:
      require_keys(read_container_answer(text));
      break;
    case 1:
      require_keys(read_sts_answer(text));
      break;
    case 2:
      for (const auto& [name, profile] : parse_profiles(text, data[0] % 8 == 2)) {
        if (profile.contains("[")) std::abort();
      }
      break;
    default:
      if (const auto url = parse_url(text)) {
        if (url->server.host.empty() || url->server.port == 0 || !url->path.starts_with('/')) std::abort();
      }
  }
  return 0;
}

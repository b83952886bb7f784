#include "client/server_url.h"

#include <algorithm>

#include "base/text.h"
#include "wire/url.h"

namespace weir::client {
namespace {

using base::invalid;

Error wrong(std::string_view text, std::string_view why) { return invalid(base::quoted(text), ": ", why); }

bool is_path_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._/~!$&'()*+,;=:@%").find(c) != std::string_view::npos;
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  std::string_view rest = text;
  while (rest.ends_with('/') && !rest.ends_with("://")) rest.remove_suffix(1);
  if (!rest.starts_with("http://") && !rest.starts_with("https://")) {
    const bool scheme = rest.find("://") != std::string_view::npos || rest.starts_with("sqlite:");
    return wrong(text, scheme ? std::string("a service is reached by http:// or https://")
                              : base::join("begin with http:// or https://, such as http://",
                                           rest.empty() ? "127.0.0.1:8080" : rest));
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong(text, "leave out what follows ? or #");
  const auto url = wire::parse_url(rest);
  // Not shown: it may be a secret.
  if (rest.substr(0, rest.find('/', rest.find("://") + 3)).find('@') != std::string_view::npos)
    return invalid("a URL must not have a user or a password in it; put the token in WEIR_TOKEN");
  if (!url) return wrong(text, url.error().message);
  if (!std::all_of(url->path.begin(), url->path.end(), is_path_char))
    return wrong(text, "its path has a character that must be escaped");
  if (url->path.ends_with("/v1")) return wrong(text, "leave out the /v1 at its end");
  return ServerUrl{url->tls(), url->host, url->at().port, url->path, std::string(rest)};
}

}  // namespace weir::client

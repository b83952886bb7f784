#include "cli/destination.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/read.h"

namespace weir::cli {
namespace {

using base::invalid;
using base::join;

/// Whether the token is valid in a header. The message never shows it.
Result<void> check_token(std::string_view token, const std::string& source) {
  const bool usable =
      !token.empty() && std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (usable) return {};
  if (token.empty()) return invalid(source, " has no token in it: it is empty");
  return invalid(source, " has no token in it: one word of letters, digits and punctuation");
}

Result<std::string> read_token_file(const std::string& file) {
  constexpr std::size_t longest = 8192;
  auto token = base::read_file(file, longest);
  if (!token) return invalid("--token-file: ", token.error().message);
  if (token->starts_with("\xef\xbb\xbf")) token->erase(0, 3);  // a byte-order mark, which some editors write
  token->erase(token->find_last_not_of(" \t\r\n") + 1);
  return token;
}

Result<void> read_token(const Common& common, const World& world, client::RemoteOptions& server) {
  if (common.token_file) {
    auto token = read_token_file(*common.token_file);
    if (!token) return token.error();
    server.token = *std::move(token);
    server.token_source = *common.token_file;
  } else if (const auto token = said({}, world, "WEIR_TOKEN")) {
    server.token = *token;
    server.token_source = "WEIR_TOKEN";
  } else {
    return {};
  }
  return check_token(server.token, server.token_source);
}

Result<client::RemoteOptions> read_server(const std::string& url, std::string_view said_by,
                                          const Common& common, const World& world) {
  client::RemoteOptions server;
  auto parsed = client::parse_server_url(url);
  if (!parsed) return invalid(said_by, " ", parsed.error().message);
  server.url = *std::move(parsed);
  if (common.principal)
    return invalid("--as names who changes a store; a service knows you by your token instead");
  if (common.ca_file && !server.url.tls)
    return invalid("--ca-file is for https://, and ", said_by, " begins with http://");
  server.ca_file = common.ca_file.value_or("");
  if (common.timeout) {
    const auto timeout = read_duration("--timeout", *common.timeout);
    if (!timeout) return timeout.error();
    server.timeout = *timeout;
  }
  if (auto token = read_token(common, world, server); !token) return token.error();
  return server;
}

Result<void> refuse_server_options(const Common& common) {
  const std::pair<const char*, const std::optional<std::string>*> options[] = {
      {"--token-file", &common.token_file}, {"--ca-file", &common.ca_file}, {"--timeout", &common.timeout}};
  for (const auto& [name, value] : options) {
    if (*value) return invalid(name, " belongs to --server URL, and no service is named");
  }
  return {};
}

}  // namespace

std::optional<std::string> said(const std::optional<std::string>& option, const World& world,
                                const char* variable) {
  if (option) return option;
  auto value = world.environment(variable);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Result<Destination> read_destination(const Common& common, const World& world, Reach reach) {
  Destination place;
  if (reach == Reach::here && common.server)
    return invalid("this is done where the store is, not through a service; leave out --server");
  if (common.store && common.server)
    return invalid("--store opens a store and --server asks a service that has one; say one of them");
  const auto store = said(common.store, world, "WEIR_STORE");
  const auto server =
      reach == Reach::here || common.store ? common.server : said(common.server, world, "WEIR_SERVER");
  if (store && server && !common.server) {
    return invalid(
        "WEIR_STORE and WEIR_SERVER are both set; unset one of them, or say --store URL or --server URL");
  }
  place.store = store.value_or(place.store);
  if (!server) {
    if (auto checked = refuse_server_options(common); !checked) return checked.error();
    return place;
  }
  auto read = read_server(*server, common.server ? "--server" : "WEIR_SERVER", common, world);
  if (!read) return read.error();
  place.server = *std::move(read);
  return place;
}

}  // namespace weir::cli

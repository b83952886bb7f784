#include "service/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/hex.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::service {
namespace {

using base::invalid;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

struct NamedRole {
  std::string_view name;
  Role role;
};
constexpr NamedRole named_roles[] = {
    {"acquire", Role::acquire}, {"read", Role::read}, {"admin", Role::admin}};

std::optional<unsigned> role_of(std::string_view name) {
  for (const NamedRole& known : named_roles) {
    if (name == known.name) return static_cast<unsigned>(known.role);
  }
  return std::nullopt;
}

}  // namespace

std::string names_of_roles(unsigned roles) {
  std::string names;
  for (const NamedRole& known : named_roles) {
    if ((roles & static_cast<unsigned>(known.role)) != 0)
      names += base::join(names.empty() ? "" : " and ", known.name);
  }
  return names;
}

/// Errors repeat no word of the line, since any of them may be the token itself by mistake.
Result<Tokens::Entry> Tokens::parse_line(std::string_view line) {
  const auto words = split(line, " \t\r");
  if (words.size() < 3 || words.size() > 4) return invalid("write: name role[,role] sha256:HEX [namespace]");
  Entry entry;
  entry.caller.name = words[0];
  if (words[0].size() > 128 || !base::is_utf8(words[0])) return invalid("the name is too long or not UTF-8");
  for (const std::string_view name : split(words[1], ",")) {
    const auto role = role_of(name);
    if (!role) return invalid("the second word must be roles: acquire, read, admin, with commas between");
    entry.caller.roles |= *role;
  }
  if (entry.caller.roles == 0) return invalid("the second word names no role");
  constexpr std::string_view scheme = "sha256:";
  const auto digest =
      words[2].starts_with(scheme) ? base::from_hex(words[2].substr(scheme.size())) : std::nullopt;
  if (!digest || digest->size() != entry.digest.size()) {
    return invalid(
        "the third word must be sha256: and 64 hex digits; make it with: printf %s TOKEN | sha256sum");
  }
  std::copy(digest->begin(), digest->end(), entry.digest.begin());
  if (words.size() == 4) {
    if (!limits::check_namespace(words[3]))
      return invalid("the fourth word must be a namespace: a-z, 0-9, -");
    entry.caller.name_space = words[3];
  }
  return entry;
}

Result<Tokens> Tokens::parse(std::string_view text, std::string_view file) {
  Tokens tokens;
  std::size_t number = 0;
  std::map<Digest, std::size_t> lines;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte-order mark, which some editors write
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    auto entry = parse_line(line);
    if (!entry) return invalid(file, ":", std::to_string(number), ": ", entry.error().message);
    // Two lines with one token would leave open which roles and namespace it has.
    if (const auto [known, is_new] = lines.emplace(entry->digest, number); !is_new) {
      return invalid(file, ":", std::to_string(number), ": the token of this line stands on line ",
                     std::to_string(known->second), " too; give each line a token of its own");
    }
    tokens.entries_.push_back(*std::move(entry));
  }
  if (tokens.entries_.empty()) return invalid(file, ": no tokens in it");
  return tokens;
}

const Caller* Tokens::find(std::string_view token) const {
  Digest digest{};
  unsigned size = 0;
  if (EVP_Digest(token.data(), token.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    return nullptr;
  const Caller* found = nullptr;
  // Compares with all entries, so that the time reveals nothing about them.
  for (const Entry& entry : entries_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry.caller;
  }
  return found;
}

Result<std::shared_ptr<const Tokens>> read_tokens(const std::string& path, std::string_view option) {
  if (path.empty()) return std::shared_ptr<const Tokens>();
  const auto text = base::read_file(path);
  if (!text) return base::invalid(option, ": ", text.error().message);
  auto tokens = Tokens::parse(*text, path);
  if (!tokens) return tokens.error();
  return std::shared_ptr<const Tokens>(std::make_shared<Tokens>(*std::move(tokens)));
}

}  // namespace weir::service

// Authentication: bearer tokens and their roles. Only digests of tokens are kept.
//
//   alice  admin            sha256:9f86d081...  default
//   edge   acquire,read     sha256:60303ae2...
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::service {

enum class Role : unsigned char { acquire = 1, read = 2, admin = 4 };

/// "acquire and read", for messages.
std::string names_of_roles(unsigned roles);

/// The owner of a token.
struct Caller {
  std::string name;        ///< the principal of changes, in the audit
  unsigned roles = 0;      ///< of Role
  std::string name_space;  ///< empty: all namespaces

  /// Admins may do everything.
  bool may(Role role) const {
    return (roles & (static_cast<unsigned>(role) | static_cast<unsigned>(Role::admin))) != 0;
  }
};

/// A list of tokens. Immutable; a reload makes a new one.
class Tokens {
 public:
  /// Parses a tokens file; errors name the line, never its content.
  static Result<Tokens> parse(std::string_view text, std::string_view file);

  /// The owner of a token; null if it is unknown. Takes the same time for every wrong token.
  const Caller* find(std::string_view token) const;
  std::size_t size() const { return entries_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Entry {
    Digest digest{};
    Caller caller;
  };
  static Result<Entry> parse_line(std::string_view line);

  std::vector<Entry> entries_;
};

/// Reads a tokens file; null without a path. `option`: what named the path, for errors.
Result<std::shared_ptr<const Tokens>> read_tokens(const std::string& path, std::string_view option);

}  // namespace weir::service

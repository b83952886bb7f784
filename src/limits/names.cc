#include "limits/names.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "weir/catalog.h"

namespace weir::limits {
namespace {

using base::invalid;
using base::quoted;

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Letters, digits and some punctuation, as a table: names are checked with every request.
struct Grammar {
  constexpr Grammar(const char* of, std::size_t most, std::string_view punctuation, const char* says)
      : what(of), longest(most), allowed(says) {
    for (unsigned i = 0; i < 128; ++i) {
      const char c = static_cast<char>(i);
      fits[i] = is_letter(c) || is_digit(c) || punctuation.find(c) != std::string_view::npos;
    }
  }
  const char* what;
  std::size_t longest;
  const char* allowed;
  std::array<bool, 256> fits{};
};

constexpr Grammar entity_grammar{"entity", longest_entity, "_-.:@/+=", "letters, digits and _-.:@/+="};
constexpr Grammar resource_grammar{"resource", longest_resource, "_-.:/*", "letters, digits and _-.:/*"};
constexpr Grammar plan_grammar{"plan", longest_resource, "_-.:/*", "letters, digits and _-.:/*"};
constexpr Grammar limit_grammar{"limit name", 64, "_-", "a letter, then letters, digits, _ and -"};
constexpr Grammar namespace_grammar{"namespace", 32, "-", "a-z, 0-9 and -"};

Result<void> check(std::string_view name, const Grammar& grammar) {
  if (name.empty()) return invalid(grammar.what, " is empty; use ", grammar.allowed);
  if (name.size() > grammar.longest) {
    return invalid(grammar.what, " ", quoted(name), " is longer than ", std::to_string(grammar.longest),
                   " characters");
  }
  const auto fits = [&](char c) { return grammar.fits[static_cast<unsigned char>(c)]; };
  if (!std::all_of(name.begin(), name.end(), fits)) {
    return invalid(grammar.what, " ", quoted(name), " has a character that is not allowed; use ",
                   grammar.allowed);
  }
  return {};
}

/// The name of the metadata that is an alias.
constexpr const char* alias_name = "alias";

}  // namespace

Result<void> check_entity(std::string_view name) { return check(name, entity_grammar); }

Result<void> check_resource(std::string_view name) {
  if (name == "_default_") return invalid("resource \"_default_\" is reserved; use another name");
  return check(name, resource_grammar);
}

Result<void> check_plan(std::string_view name) {
  if (name == "_default_") return invalid("plan \"_default_\" is reserved; use another name");
  return check(name, plan_grammar);
}

Result<void> check_limit_name(std::string_view name) {
  auto checked = check(name, limit_grammar);
  if (checked && !is_letter(name.front())) {
    return invalid("limit name ", quoted(name), " does not start with a letter");
  }
  return checked;
}

Result<void> check_namespace(std::string_view name) {
  auto checked = check(name, namespace_grammar);
  if (checked &&
      !std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '-'; })) {
    return invalid("namespace ", quoted(name), " has a capital letter; use a-z, 0-9 and -");
  }
  return checked;
}

Result<void> check_level(const Level& level) {
  const bool has_entity = level.kind() == Source::entity || level.kind() == Source::entity_default;
  const bool has_resource = level.kind() == Source::entity || level.kind() == Source::resource;
  if (has_entity) {
    if (auto checked = check_entity(level.entity()); !checked) return checked;
  }
  if (has_resource) return check_resource(level.resource());
  return {};
}

Result<void> check_adjust_key(std::string_view key) {
  if (!key.empty() && key.size() <= longest_key) return {};
  return invalid("an adjust needs a key of 1 to ", std::to_string(longest_key),
                 " characters, so that it can be repeated safely");
}

Result<void> check_alias(const Entity& entity) {
  const auto found = entity.metadata.find(alias_name);
  if (found == entity.metadata.end()) return {};
  if (auto checked = check_entity(found->second); !checked)
    return invalid("alias of entity ", quoted(entity.id), ": ", checked.error().message);
  if (found->second == entity.id)
    return invalid("alias of entity ", quoted(entity.id), " is the entity itself; name another one");
  return {};
}

std::string_view alias_of(const Entity& entity) {
  const auto found = entity.metadata.find(alias_name);
  if (found == entity.metadata.end() || !check_alias(entity)) return {};
  return found->second;
}

Result<void> check_entity_record(const Entity& entity) {
  if (auto id = check_entity(entity.id); !id) return id.error();
  if (!entity.parent.empty()) {
    if (auto parent = check_entity(entity.parent); !parent)
      return invalid("parent: ", parent.error().message);
  }
  if (entity.cascade && entity.parent.empty()) {
    return invalid("entity ", quoted(entity.id), " has cascade on but no parent; name a parent");
  }
  if (!entity.plan.empty()) {
    if (auto plan = check_plan(entity.plan); !plan) return plan;
  }
  if (!base::is_utf8(entity.name)) return invalid("the name of entity ", quoted(entity.id), " is not UTF-8");
  if (entity.name.size() > max_entity_text)
    return invalid("the name of entity ", quoted(entity.id), " is too long");
  if (entity.metadata.size() > max_metadata)
    return invalid("entity ", quoted(entity.id), " has too much metadata");
  for (const auto& [name, value] : entity.metadata) {
    if (!base::is_utf8(name) || !base::is_utf8(value))
      return invalid("metadata ", quoted(name), " of entity ", quoted(entity.id), " is not UTF-8");
    if (name.size() + value.size() > max_entity_text)
      return invalid("metadata ", quoted(name), " of entity ", quoted(entity.id), " is too long");
  }
  return check_alias(entity);
}

}  // namespace weir::limits

namespace weir {

const char* name_of(Source source) {
  switch (source) {
    case Source::entity:
      return "entity";
    case Source::entity_default:
      return "entity_default";
    case Source::plan:
      return "plan";
    case Source::resource:
      return "resource";
    case Source::system:
      return "system";
    case Source::request:
      return "request";
  }
  return "unknown";
}

const char* name_of(OnUnavailable policy) { return policy == OnUnavailable::allow ? "allow" : "deny"; }

const char* name_of(Owner owner) { return owner == Owner::sync ? "sync" : "operator"; }

}  // namespace weir

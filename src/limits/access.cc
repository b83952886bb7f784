#include "limits/access.h"

#include <algorithm>

#include "base/maxima.h"
#include "base/text.h"
#include "limits/names.h"

namespace weir::limits {
namespace {

using base::invalid;

constexpr std::string_view only_line = "only";

const char* word_of(Access access) { return access == Access::blocked ? "block" : "exempt"; }

bool is_one_line(std::string_view text) {
  return base::is_utf8(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

/// Takes the text up to the next separator off the front.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<Time> moment_of(std::string_view word) {
  const auto number = base::parse_digits(word);
  return number && *number <= latest_stamp ? number : std::nullopt;
}

std::optional<AccessRule> decode_rule(std::string_view line) {
  AccessRule rule;
  const std::string_view word = take(line, ' ');
  if (word != "block" && word != "exempt") return std::nullopt;
  rule.access = word == "block" ? Access::blocked : Access::exempt;
  const auto since = moment_of(take(line, ' '));
  if (!since) return std::nullopt;
  rule.since = *since;
  if (const std::string_view until = take(line, ' '); until != "-") {
    rule.until = moment_of(until);
    if (!rule.until) return std::nullopt;
  }
  if (const std::string_view resource = take(line, ' '); resource != "-") rule.resource = resource;
  rule.reason = line;
  return check_access(rule) ? std::optional(std::move(rule)) : std::nullopt;
}

bool holds(const AccessRule& rule, std::string_view resource, Time now) {
  return (rule.resource.empty() || rule.resource == resource) && (!rule.until || *rule.until > now);
}

/// False also where both have no end.
bool ends_later(const AccessRule& rule, const AccessRule& other) {
  return other.until && (!rule.until || *rule.until > *other.until);
}

/// The rule of this kind that holds longest.
const AccessRule* strongest(const AccessLink& link, Access access, std::string_view resource, Time now) {
  const AccessRule* found = nullptr;
  for (const AccessRule& rule : link.rules) {
    if (rule.access != access || !holds(rule, resource, now)) continue;
    if (found == nullptr || ends_later(rule, *found)) found = &rule;
  }
  return found;
}

AccessVerdictRef verdict_of(const AccessLink& link, const AccessRule& rule) {
  auto verdict = base::make_ref<AccessVerdict>();
  verdict->entity = link.entity;
  verdict->rule = rule;
  return AccessVerdictRef(verdict.get());
}

}  // namespace

Result<void> check_access(const AccessRule& rule) {
  if (!rule.resource.empty()) {
    if (auto resource = check_resource(rule.resource); !resource) return resource;
  }
  if (rule.reason.empty()) return invalid("the reason is missing; say in a few words why");
  if (rule.reason.size() > maxima::access_reason)
    return invalid("the reason is longer than ", std::to_string(maxima::access_reason), " bytes");
  if (!is_one_line(rule.reason)) return invalid("the reason must be one line of UTF-8 text");
  if (rule.until && (*rule.until < 0 || *rule.until > latest_stamp))
    return invalid("the end is not a moment that can be stored");
  return {};
}

const AccessRule* find_rule(std::span<const AccessRule> rules, Access access, std::string_view resource) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const AccessRule& rule) {
    return rule.access == access && rule.resource == resource;
  });
  return found == rules.end() ? nullptr : &*found;
}

std::string encode_access(const Entity& entity) {
  std::string text;
  if (entity.access_only) text.append(only_line).append("\n");
  for (const AccessRule& rule : entity.access) {
    text += base::join(word_of(rule.access), " ", std::to_string(rule.since), " ",
                       rule.until ? std::to_string(*rule.until) : "-", " ",
                       rule.resource.empty() ? std::string_view("-") : std::string_view(rule.resource), " ",
                       rule.reason, "\n");
  }
  return text;
}

bool decode_access(std::string_view text, Entity& entity) {
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line == only_line) {
      entity.access_only = true;
      continue;
    }
    auto rule = decode_rule(line);
    if (!rule || entity.access.size() == maxima::access_rules) return false;
    entity.access.push_back(*std::move(rule));
  }
  return true;
}

AccessVerdictRef judge_access(std::span<const AccessLink> chain, std::string_view resource, Time now) {
  // Of several blocks the one that ends last, since the request is refused until then.
  const AccessLink* blocked = nullptr;
  const AccessRule* last = nullptr;
  for (const AccessLink& link : chain) {
    const AccessRule* const block = strongest(link, Access::blocked, resource, now);
    if (block == nullptr || (last != nullptr && !ends_later(*block, *last))) continue;
    blocked = &link;
    last = block;
  }
  if (last != nullptr) return verdict_of(*blocked, *last);
  if (chain.empty()) return {};
  const AccessRule* const exempt = strongest(chain.front(), Access::exempt, resource, now);
  return exempt == nullptr ? AccessVerdictRef() : verdict_of(chain.front(), *exempt);
}

AccessVerdictRef judge_namespace(const NamespaceMark& mark, std::string_view name_space,
                                 std::string_view entity) {
  if (mark.purged_at == 0) return {};
  const AccessRule rule{.access = Access::blocked,
                        .reason = base::join("namespace ", name_space, " was purged"),
                        .since = mark.purged_at};
  return verdict_of({entity, {}}, rule);
}

}  // namespace weir::limits

namespace weir {

const char* name_of(Access access) { return access == Access::blocked ? "blocked" : "exempt"; }

}  // namespace weir

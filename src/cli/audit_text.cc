#include "cli/audit_text.h"

#include <map>
#include <optional>

#include "base/text.h"
#include "cli/words.h"
#include "json/document.h"
#include "limits/short_form.h"

namespace weir::cli {
namespace {

using base::join;
using JsonKind = json::Value::Kind;

/// What a record says, by names for people: "rpm", "rpm on gpt-4", "parent".
using Facts = std::map<std::string, std::string>;

/// A text, number or flag as text; empty: nothing is said.
std::string scalar(json::Document& document, json::Value& value, std::string_view key) {
  std::string_view raw;
  switch (value.peek()) {
    case JsonKind::string:
      return document.text(value, key);
    case JsonKind::boolean:
      return document.flag(value, key) ? "yes" : "";
    default:
      value.raw(raw);
      return raw == "null" || raw == "[]" || raw == "{}" ? std::string() : std::string(raw);
  }
}

/// The words of a member's name: "on_unavailable" is "on unavailable".
std::string words_of(std::string_view key) {
  std::string words(key);
  for (char& c : words) c = c == '_' ? ' ' : c;
  return words;
}

/// Of a member that is a moment; empty: it is another one.
std::string_view name_of_moment(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> moments[] = {{"expires_at_ms", "expiry"},
                                                                       {"until_ms", "until"},
                                                                       {"created_at_ms", "created"},
                                                                       {"purged_at_ms", "purged"},
                                                                       {"kept_until_ms", "kept until"}};
  for (const auto& [member, name] : moments) {
    if (key == member) return name;
  }
  return {};
}

void read_members(json::Document& document, json::Value& value, const std::string& where, Facts& facts);

void read_member(json::Document& document, std::string_view key, json::Value& value, const std::string& where,
                 Facts& facts) {
  if (key == "limits") {
    for (const NamedLimit& limit : document.limits(value, key))
      facts[limit.name + where] = limits::to_text(limit.limit);
  } else if (key == "resources") {
    document.members(value, key, [&](std::string_view resource, json::Value& set) {
      read_members(document, set, join(" on ", resource), facts);
    });
  } else if (key == "metadata") {
    document.members(value, key, [&](std::string_view name, json::Value& text) {
      facts[join("metadata ", name)] = scalar(document, text, name);
    });
  } else if (const auto moment = name_of_moment(key); !moment.empty() && value.peek() == JsonKind::number) {
    facts[std::string(moment)] = moment_text(document.integer(value, key));
  } else if (std::string text = scalar(document, value, key); !text.empty()) {
    facts[words_of(key) + where] = std::move(text);
  }
}

void read_members(json::Document& document, json::Value& value, const std::string& where, Facts& facts) {
  document.members(value, "set", [&](std::string_view key, json::Value& member) {
    read_member(document, key, member, where, facts);
  });
}

/// Nothing: the text is none that weir writes.
std::optional<Facts> facts_of(std::string_view json) {
  Facts facts;
  if (json.empty()) return facts;
  json::Document document(json, "the event");
  document.members(
      [&](std::string_view key, json::Value& value) { read_member(document, key, value, {}, facts); });
  if (document.failed()) return std::nullopt;
  return facts;
}

/// "rpm 100/min", "rpm from 100/min to 50/min", "no tpm any more (was 5000/min)".
std::string differences(const Facts& before, const Facts& after) {
  std::string text;
  const auto add = [&](const std::string& part) { text += join(text.empty() ? "" : ", ", part); };
  for (const auto& [name, value] : after) {
    const auto was = before.find(name);
    if (was == before.end()) {
      add(join(name, " ", value));
    } else if (was->second != value) {
      add(join(name, " from ", was->second, " to ", value));
    }
  }
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) add(join("no ", name, " any more (was ", value, ")"));
  }
  return text;
}

/// An operator owns nearly all limits: the owner matters where sync has, or had, them.
void drop_operator(Facts& before, Facts& after) {
  const auto of_sync = [](const Facts& facts) {
    const auto owner = facts.find("owner");
    return owner != facts.end() && owner->second != "operator";
  };
  if (of_sync(before) || of_sync(after)) return;
  before.erase("owner");
  after.erase("owner");
}

/// The verb and the object: "changed the limits of entity key-1 on gpt-4".
std::string deed(const AuditEvent& event) {
  const bool of_limits = event.action.starts_with("limits.");
  const bool of_namespace = event.action.starts_with("namespace.");
  const std::string object =
      of_namespace ? "the namespace" : join(of_limits ? "the limits of " : "", subject_text(event));
  if (event.action.ends_with(".delete")) return join("deleted ", object);
  if (event.action == "limits.set") return join(event.before.empty() ? "set " : "changed ", object);
  if (event.action.ends_with(".put")) return join(event.before.empty() ? "created " : "changed ", object);
  constexpr std::pair<std::string_view, std::string_view> verbs[] = {
      {"entity.block", "blocked "},
      {"entity.unblock", "unblocked "},
      {"entity.exempt", "exempted "},
      {"entity.unexempt", "no longer exempts "},
      {"entity.reset", "filled the buckets of "},
      {"entity.grant", "granted more to "},
      {"namespace.create", "created "},
      {"namespace.purge", "purged "},
      {"namespace.restore", "restored "},
      {"namespace.erase", "deleted "}};
  for (const auto& [action, verb] : verbs) {
    if (event.action == action) return join(verb, object);
  }
  return join(event.action, " of ", object);
}

}  // namespace

std::string subject_text(const AuditEvent& event) {
  constexpr std::string_view resource = "$RESOURCE:";
  if (event.subject == "$SYSTEM") return "the system";
  if (event.subject.starts_with(resource)) return join("resource ", event.subject.substr(resource.size()));
  constexpr std::string_view plan = "$PLAN:";
  if (event.subject.starts_with(plan)) return join("plan ", event.subject.substr(plan.size()));
  return join("entity ", event.subject, event.resource.empty() ? "" : " on ", event.resource);
}

std::string sentence_of(const AuditEvent& event) {
  auto before = facts_of(event.before);
  auto after = facts_of(event.after);
  std::string sentence = deed(event);
  // What cannot be read is shown as it is.
  if (!before || !after) return join(sentence, ": from ", event.before, " to ", event.after);
  drop_operator(*before, *after);
  if (event.after.empty()) {
    const std::string was = differences({}, *before);
    return was.empty() ? sentence : join(sentence, " (", was, ")");
  }
  const std::string changed = differences(*before, *after);
  if (changed.empty()) return join(sentence, event.before.empty() ? "" : ", which stayed the same");
  return join(sentence, ": ", changed);
}

}  // namespace weir::cli

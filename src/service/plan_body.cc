#include "service/plan_body.h"

#include "base/text.h"
#include "limits/limit_set.h"

namespace weir::service {
namespace {

using base::join;
using base::quoted;
using json::Document;

/// Whether the set of a resource is written as `{"limits":{...},"inherit"?}`, as answers have it, or as the
/// limits themselves. A limit in long form has a capacity, so that one may be named "limits".
bool has_limits_member(std::string_view set) {
  Document probe(set);
  bool found = false;
  bool is_limit = false;
  probe.members([&](std::string_view key, json::Value& value) {
    if (key != "limits") return;
    found = true;
    probe.members(value, key,
                  [&](std::string_view name, json::Value&) { is_limit = is_limit || name == "capacity"; });
  });
  return found && !is_limit && !probe.failed();
}

/// A member of a set; false: it is another member.
bool read_set_member(Document& document, std::string_view key, json::Value& value, PlanLimits& set,
                     Mode& mode) {
  if (key == "limits") {
    set.limits = document.limits(value, key);
  } else if (key == "inherit") {
    set.inherit = document.flag(value, key);
  } else if (key == "mode") {
    mode = read_mode(document, value, key);
  } else {
    return false;
  }
  return true;
}

PlanLimits read_set(Document& document, json::Value& value, std::string_view resource) {
  const std::string raw = document.raw(value, resource);
  PlanLimits set;
  if (document.failed()) return set;
  Document inner(raw, join("resources ", quoted(resource)));
  if (has_limits_member(raw)) {
    static constexpr std::string_view known[] = {"limits", "inherit", "mode"};
    Mode mode = Mode::enforce;
    inner.members([&](std::string_view key, json::Value& member) {
      if (!read_set_member(inner, key, member, set, mode)) inner.unknown(key, known);
    });
    limits::set_mode(set.limits, mode);
  } else {
    set.limits = inner.limits();
  }
  const auto parsed = inner.result(0);
  const std::string where = join("resources ", quoted(resource), ": ");
  if (!parsed.malformed.empty()) document.malform(where + parsed.malformed);
  if (!parsed.invalid.empty()) document.invalidate(where + parsed.invalid);
  return set;
}

}  // namespace

Mode read_mode(Document& document, json::Value& value, std::string_view of) {
  const auto mode = parse_mode(document.text(value, of));
  if (!mode) document.invalidate(mode.error().message);
  return mode ? *mode : Mode::enforce;
}

std::optional<bool> read_usage(Document& document, json::Value& value, std::string_view of) {
  const auto usage = base::parse_on_or_off(document.text(value, of));
  if (!usage) document.invalidate("usage must be on or off");
  return usage;
}

bool read_plan_resources(Document& document, std::string_view key, json::Value& value, LimitsPlan& plan) {
  if (key != "resources") return false;
  document.members(value, key, [&](std::string_view resource, json::Value& set) {
    plan.resources[std::string(resource)] = read_set(document, set, resource);
  });
  return true;
}

json::Parsed<LimitsPlan> parse_plan(std::string_view json, std::string_view name) {
  Document document(json);
  LimitsPlan plan{.name = std::string(name)};
  Mode mode = Mode::enforce;
  document.members([&](std::string_view key, json::Value& value) {
    static constexpr std::string_view known[] = {"limits", "resources", "inherit", "mode"};
    if (read_set_member(document, key, value, plan.limits, mode)) return;
    if (read_plan_resources(document, key, value, plan)) return;
    // These are in the answer of a get, which can be put again.
    if (key == "plan") {
      if (document.text(value, key) != name)
        document.invalidate(join("the body is of another plan than ", quoted(name)));
    } else if (key == "from_file") {
      static_cast<void>(document.flag(value, key));
    } else {
      document.unknown(key, known);
    }
  });
  limits::set_mode(plan.limits.limits, mode);
  return document.result(std::move(plan));
}

}  // namespace weir::service

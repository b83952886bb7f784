// The limiter's side of namespaces: listed, created, purged, restored.
#include <algorithm>

#include "base/text.h"
#include "limiter/core.h"
#include "limits/names.h"
#include "store/audit.h"

namespace weir::limiter {
namespace {

using base::error;
using base::invalid;
using base::quoted;
using store::NamespaceWrite;

constexpr Time longest_kept = Time{366} * 24 * 60 * 60 * 1000;
/// The audit of this namespace has that another one was erased.
constexpr std::string_view witness = "default";

Namespace namespace_of(std::string_view name, const limits::NamespaceMark& mark) {
  Namespace out{.name = std::string(name)};
  if (mark.created_at != 0) out.created_at = mark.created_at;
  if (mark.purged_at == 0) return out;
  out.purged_at = mark.purged_at;
  out.kept_until = mark.kept_until;
  return out;
}

Error nothing_in(std::string_view name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  return error(ErrorCode::not_found, "namespace ", quoted(name), " holds nothing",
               base::did_you_mean(name, known));
}

}  // namespace

Result<std::vector<Namespace>> Core::namespaces() {
  const auto names = store_.namespaces();
  if (!names) return names.error();
  std::vector<Namespace> out;
  out.reserve(names->size());
  for (const std::string& name : *names) {
    auto mark = store::wait_for<limits::NamespaceMark>([&](auto done) { store_.catalog().mark(name, done); });
    if (!mark) return mark.error();
    out.push_back(namespace_of(name, *mark));
  }
  return out;
}

Result<Namespace> Core::change_namespace(std::string_view name, const NamespaceWrite& write) {
  const store::Change change = write;
  auto changed = write_in(name, std::span(&change, 1));
  if (!changed) {
    return error(changed.error().code, "namespace ", quoted(name), ": ", changed.error().message);
  }
  return namespace_of(name, changed->front().limits->name_space);
}

Result<Namespace> Core::create_namespace(std::string_view name) {
  if (auto checked = limits::check_namespace(name); !checked) return checked.error();
  return change_namespace(name, {.verb = NamespaceWrite::Verb::create});
}

Result<Namespace> Core::restore_namespace(std::string_view name) {
  if (auto checked = limits::check_namespace(name); !checked) return checked.error();
  return change_namespace(name, {.verb = NamespaceWrite::Verb::restore});
}

Result<Namespace> Core::purge_namespace(std::string_view name, Time keep_for) {
  if (auto checked = limits::check_namespace(name); !checked) return checked.error();
  if (keep_for < 0 || keep_for > longest_kept)
    return invalid("a purged namespace can be kept for 0 to 366 days");
  const auto names = store_.namespaces();
  if (!names) return names.error();
  if (std::find(names->begin(), names->end(), name) == names->end()) return nothing_in(name, *names);
  auto purged = change_namespace(name, {.verb = NamespaceWrite::Verb::purge, .keep_for = keep_for});
  if (!purged || *purged->kept_until > store_.now()) return purged;
  if (auto erased = erase_namespace(name); !erased) return erased.error();
  purged->erased = true;
  return purged;
}

Result<void> Core::erase_namespace(std::string_view name) {
  if (auto erased = store_.erase_namespace(name); !erased) return erased;
  const store::Change note =
      store::AuditNote{"$SYSTEM", "namespace.erase", {}, store::to_json(name, limits::NamespaceMark())};
  auto noted = write_in(witness, std::span(&note, 1));
  if (noted) return {};
  return error(noted.error().code, "namespace ", quoted(name),
               " was erased, but the audit does not have it: ", noted.error().message);
}

}  // namespace weir::limiter

// entity create, get, delete, list and children; namespace list.
#include "api/catalog_json.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/text_table.h"
#include "cli/words.h"

namespace weir::cli {
namespace {

using base::join;

/// "blocked on gpt-4 until 2026-11-17 05:00:00 (abuse), exempt (launch day)".
std::string rules_text(const std::vector<AccessRule>& rules) {
  std::string text;
  for (const AccessRule& rule : rules) {
    text += join(text.empty() ? "" : ", ", name_of(rule.access), rule.resource.empty() ? "" : " on ",
                 rule.resource, rule.until ? " until " + moment_text(*rule.until) : std::string(), " (",
                 rule.reason, ")");
  }
  return text;
}

void print_entity(const Session& session, const Entity& entity) {
  if (session.json()) return session.print_json(api::to_json(entity));
  std::string metadata;
  for (const auto& [name, value] : entity.metadata)
    metadata += join(metadata.empty() ? "" : ", ", name, "=", value);
  const std::string parent =
      entity.parent.empty() ? "-" : join(entity.parent, entity.cascade ? ", charges cascade to it" : "");
  session.print_fields({{"entity", entity.id},
                        {"name", entity.name},
                        {"parent", parent},
                        {"plan", entity.plan},
                        {"created", join(relative_text(entity.created_at, session.now()), ", ",
                                         moment_text(entity.created_at))},
                        {"metadata", metadata},
                        {"from file", entity.from_file ? "yes" : ""},
                        {"access", rules_text(entity.access)}});
}

Result<Entity> read_entity(const Arguments& arguments) {
  Entity entity{.id = *arguments.entity};
  entity.parent = arguments.parent.value_or("");
  entity.cascade = arguments.cascade;
  entity.plan = arguments.plan.value_or("");
  entity.name = arguments.name.value_or("");
  if (entity.cascade && entity.parent.empty()) return base::invalid("--cascade needs --parent");
  for (const std::string& text : arguments.metadata) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::invalid("--meta ", base::quoted(text), ": write NAME=VALUE, such as --meta team=search");
    if (!entity.metadata.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      return base::invalid("--meta ", base::quoted(text.substr(0, equals)), " is given twice");
  }
  return entity;
}

}  // namespace

Result<ExitCode> entity_create(Session& session, const Arguments& arguments) {
  const auto entity = read_entity(arguments);
  if (!entity) return entity.error();
  client::Target& target = session.target();
  const auto stored = target.put_entity(*entity);
  if (!stored) return stored.error();
  session.warn_if_forgotten();
  print_entity(session, *stored);
  return done;
}

Result<ExitCode> entity_get(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  const auto entity = target.entity(*arguments.entity);
  if (!entity) return entity.error();
  print_entity(session, *entity);
  return done;
}

Result<ExitCode> entity_delete(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  if (auto deleted = target.delete_entity(*arguments.entity); !deleted) return deleted.error();
  if (!session.json())
    session.out() << "deleted entity " << printable(*arguments.entity) << ", its limits and its buckets\n";
  return done;
}

Result<ExitCode> entity_list(Session& session, const Arguments& /*arguments*/) {
  client::Target& target = session.existing();
  TextTable table({{"ENTITY"}, {"PARENT"}, {"CASCADE"}, {"PLAN"}, {"NAME"}, {"CREATED"}});
  JsonList json(session.out(), "items");
  bool found = false;
  const auto visit = [&](const Entity& entity) {
    found = true;
    if (session.json()) return json.add(api::to_json(entity));
    table.add({{entity.id},
               {entity.parent},
               {entity.cascade ? "yes" : ""},
               {entity.plan},
               {entity.name},
               {relative_text(entity.created_at, session.now())}});
  };
  auto listed = for_each_item([&](const Paging& paging) { return target.entities(paging); }, visit);
  if (!listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) {
    json.end();
  } else if (found) {
    table.print(session.out(), session.style());
  }
  return done;
}

Result<ExitCode> entity_children(Session& session, const Arguments& arguments) {
  client::Target& target = session.existing();
  JsonList json(session.out(), "children");
  bool found = false;
  auto listed =
      for_each_item([&](const Paging& paging) { return target.children(*arguments.entity, paging); },
                    [&](const std::string& child) {
                      found = true;
                      if (session.json()) return json.add(base::json_string(child));
                      session.out() << printable(child) << '\n';
                    });
  if (!listed) return listed.error();
  if (!found) session.note_empty_namespace();
  if (session.json()) json.end();
  return done;
}

}  // namespace weir::cli

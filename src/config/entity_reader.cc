#include "config/entity_reader.h"

#include "base/text.h"
#include "limits/names.h"

namespace weir::config {
namespace {

using base::quoted;

void read_parent(MappingReader& in, std::uint32_t id, const Subject& subject, DesiredEntity& entity) {
  const YamlNode* const node = in.scalar(id, subject, "parent", "the name of an entity");
  if (node == nullptr) return;
  if (auto checked = limits::check_entity(in.text(*node)); !checked) {
    in.problem(node->place, "parent of ", subject.text(), ": ", checked.error().message);
    return;
  }
  entity.parent = in.text(*node);
}

void read_cascade(MappingReader& in, const EntityFields& fields, const Subject& subject,
                  DesiredEntity& entity) {
  entity.cascade = read_flag(in, fields.cascade, subject, "cascade");
  if (entity.cascade && fields.parent == 0)
    in.problem(in.place(fields.cascade), subject.text(),
               " has cascade on but no parent; name a parent, or remove cascade");
}

void read_plan(MappingReader& in, std::uint32_t id, const Subject& subject, DesiredEntity& entity) {
  const YamlNode* const node = in.scalar(id, subject, "plan", "the name of a plan");
  if (node == nullptr) return;
  if (auto checked = limits::check_plan(in.text(*node)); !checked) {
    in.problem(node->place, "plan of ", subject.text(), ": ", checked.error().message);
    return;
  }
  entity.plan = in.text(*node);
}

void read_name(MappingReader& in, std::uint32_t id, const Subject& subject, DesiredEntity& entity) {
  const YamlNode* const node = in.scalar(id, subject, "name", "text");
  if (node == nullptr) return;
  if (node->text_size > limits::max_entity_text) {
    in.problem(node->place, "name of ", subject.text(), " is longer than ",
               std::to_string(limits::max_entity_text), " bytes; shorten it");
  }
  entity.name = in.text(*node);
}

void read_metadata(MappingReader& in, std::uint32_t id, const Subject& subject, DesiredEntity& entity) {
  const Subject metadata = subject.part_of("metadata of ");
  entity.metadata.emplace();
  for (const MappingEntry& entry : in.entries(id, metadata, "{team: search}")) {
    const YamlNode* const value = in.scalar(entry.value, metadata, quoted(entry.name), "text");
    if (value == nullptr) continue;
    if (entry.name.size() + value->text_size > limits::max_entity_text) {
      in.problem(entry.place, quoted(entry.name), " of ", metadata.text(), " is longer than ",
                 std::to_string(limits::max_entity_text), " bytes; shorten it");
    }
    entity.metadata->emplace(entry.name, in.text(*value));
  }
  if (entity.metadata->size() > limits::max_metadata) {
    in.problem(in.place(id), metadata.text(), " has ", std::to_string(entity.metadata->size()),
               " entries; the most is ", std::to_string(limits::max_metadata));
  }
  if (auto alias = limits::check_alias({.id = entity.id, .metadata = *entity.metadata}); !alias)
    in.problem(in.place(id), alias.error().message);
}

}  // namespace

bool read_flag(MappingReader& in, std::uint32_t id, const Subject& subject, std::string_view name) {
  const YamlNode* const node = in.scalar(id, subject, name, "true or false");
  if (node == nullptr) return false;
  const std::string_view text = in.text(*node);
  const bool on = text == "true" || text == "True" || text == "TRUE";
  const bool off = text == "false" || text == "False" || text == "FALSE";
  if (!node->plain || (!on && !off)) {
    in.problem(node->place, name, " of ", subject.text(), " is ", quoted(text), "; use true or false",
               node->plain ? "" : ", without quotes");
  }
  return node->plain && on;
}

DesiredEntity read_entity(MappingReader& in, const Subject& subject, const EntityFields& fields) {
  DesiredEntity entity{.id = std::string(subject.name)};
  if (fields.parent != 0) read_parent(in, fields.parent, subject, entity);
  if (fields.cascade != 0) read_cascade(in, fields, subject, entity);
  if (fields.name != 0) read_name(in, fields.name, subject, entity);
  if (fields.metadata != 0) read_metadata(in, fields.metadata, subject, entity);
  if (fields.plan != 0) read_plan(in, fields.plan, subject, entity);
  entity.declared = fields.parent != 0 || fields.cascade != 0 || fields.name != 0 || fields.metadata != 0 ||
                    fields.plan != 0;
  return entity;
}

}  // namespace weir::config

#include "config/wording.h"

#include "base/json.h"
#include "base/text.h"
#include "limits/short_form.h"

namespace weir::config {
namespace {

using base::join;

void add(std::string& text, std::string_view part) {
  if (!text.empty()) text += ", ";
  text += part;
}

std::string metadata_text(const Entity& entity) {
  if (entity.metadata.empty()) return "no metadata";
  std::string text;
  for (const auto& [name, value] : entity.metadata)
    text += join(text.empty() ? "metadata {" : ", ", base::json_string(name), ": ", base::json_string(value));
  return text + "}";
}

}  // namespace

std::string in_words(const Level& level) {
  switch (level.kind()) {
    case Source::entity:
      return join("entity ", level.entity(), " on ", level.resource());
    case Source::entity_default:
      return join("entity ", level.entity(), " on _default_");
    case Source::resource:
      return join("resource ", level.resource());
    default:
      return "system";
  }
}

std::string in_words(const std::vector<NamedLimit>& limits, const SetLimitsOptions& options) {
  std::string text = limits::to_text(limits);
  if (options.inherit) add(text, "inherits the rest");
  if (options.on_unavailable) add(text, join("on_unavailable ", weir::name_of(*options.on_unavailable)));
  if (options.bucket_ttl_refill_multiplier)
    add(text, join("bucket_ttl_refill_multiplier ", std::to_string(*options.bucket_ttl_refill_multiplier)));
  if (options.usage) add(text, join("usage ", base::on_or_off(*options.usage)));
  return text;
}

std::string in_words(const Entity& entity, const Entity* other) {
  const Entity nothing{.id = {}};
  const Entity& base = other == nullptr ? nothing : *other;
  std::string text;
  if (entity.parent != base.parent)
    add(text, entity.parent.empty() ? "no parent" : join("parent ", entity.parent));
  if (entity.cascade != base.cascade) add(text, entity.cascade ? "cascade on" : "cascade off");
  if (entity.plan != base.plan) add(text, entity.plan.empty() ? "no plan" : join("plan ", entity.plan));
  if (entity.name != base.name)
    add(text, entity.name.empty() ? "no name" : join("name ", base::json_string(entity.name)));
  if (entity.metadata != base.metadata) add(text, metadata_text(entity));
  return text.empty() ? "no parent" : text;
}

}  // namespace weir::config

#include "config/mapping.h"

#include <algorithm>
#include <unordered_map>

#include "config/limits_file.h"
#include "weir/limit.h"

namespace weir::config {
namespace {

using base::join;
using base::quoted;

}  // namespace

std::string Subject::text() const {
  std::string text = join(part, what);
  if (!name.empty()) text += join(" ", quoted(name));
  if (!on_resource.empty()) text += join(" on resource ", quoted(on_resource));
  return text;
}

std::vector<MappingEntry> MappingReader::entries(std::uint32_t id, const Subject& subject,
                                                 const char* example) {
  const YamlNode& mapping = tree_[id];
  std::vector<MappingEntry> entries;
  if (mapping.kind != NodeKind::mapping) {
    problem(mapping.place, subject.text(), " must be a mapping, such as ", example, "; it is ",
            name_of(mapping.kind));
    return entries;
  }
  for (std::uint32_t key = id + 1; key < mapping.end;) {
    const std::uint32_t value = tree_[key].end;
    count(value);
    if (exhausted_) return {};
    if (has_name(key, subject)) {
      entries.push_back({text(tree_[tree_.target(key)]), tree_[key].place, tree_.target(value)});
    }
    key = tree_[value].end;
  }
  drop_repeated(entries, subject);
  return entries;
}

bool MappingReader::has_name(std::uint32_t key, const Subject& subject) {
  const YamlNode& node = tree_[tree_.target(key)];
  if (node.kind != NodeKind::scalar) {
    problem(
        tree_[key].place, "a name in ", subject.text(), " must be text, not ",
        node.kind == NodeKind::nothing ? "nothing; null and ~ need quotes to be a name" : name_of(node.kind));
    return false;
  }
  if (text(node) == "<<" && node.plain) {
    problem(tree_[key].place,
            "merge keys (\"<<\") are not read; write the fields out, or use an alias for a ",
            "whole value, as in \"limits: *name\"");
    return false;
  }
  return true;
}

/// yaml-cpp accepts duplicate keys in a mapping, and one of them would be lost silently.
void MappingReader::drop_repeated(std::vector<MappingEntry>& entries, const Subject& subject) {
  const auto repeated = [&](const MappingEntry& entry, const MappingEntry& first) {
    problem(entry.place, quoted(entry.name), " is given twice in ", subject.text(), ", first on line ",
            std::to_string(first.place.line), "; keep one of them");
  };
  constexpr std::size_t few = 16;
  std::unordered_map<std::string_view, const MappingEntry*> seen;
  if (entries.size() > few) seen.reserve(entries.size());
  const auto first_of = [&](std::size_t index) {
    if (entries.size() > few) return seen.emplace(entries[index].name, &entries[index]).first->second;
    return static_cast<const MappingEntry*>(
        &*std::find_if(entries.begin(), entries.end(),
                       [&](const MappingEntry& other) { return other.name == entries[index].name; }));
  };
  std::vector<bool> drop(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const MappingEntry* const first = first_of(i);
    drop[i] = first != &entries[i];
    if (drop[i]) repeated(entries[i], *first);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!drop[i]) entries[kept++] = entries[i];
  }
  entries.resize(kept, MappingEntry{});
}

void MappingReader::unknown_field(const MappingEntry& entry, const Subject& subject,
                                  std::span<const std::string_view> names) {
  std::string ending = base::did_you_mean(entry.name, names);
  const YamlNode& value = tree_[entry.value];
  const auto knows = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (ending.empty() && knows("limits") && value.kind == NodeKind::scalar &&
      text(value).find('/') != std::string_view::npos && Limit::parse(text(value)))
    ending = join("; did you mean \"limits: {", entry.name, ": ", text(value), "}\"?");
  if (ending.empty() && entry.name == "limits" && knows("system"))
    ending = "; write \"system: {limits: ...}\" for limits of everything";
  if (ending.empty()) {
    ending = "; known are";
    for (const std::string_view name : names) ending += join(name == names.front() ? " " : ", ", name);
  }
  problem(entry.place, "unknown field ", quoted(entry.name), " of ", subject.text(), ending);
}

const YamlNode* MappingReader::scalar(std::uint32_t id, const Subject& subject, std::string_view what,
                                      std::string_view must_be) {
  const YamlNode& node = tree_[id];
  if (node.kind == NodeKind::scalar) return &node;
  problem(node.place, what, " of ", subject.text(), " must be ", must_be, "; it is ", name_of(node.kind));
  return nullptr;
}

std::optional<std::string> MappingReader::text_of(std::uint32_t id, const Subject& subject,
                                                  std::string_view what, std::string_view must_be) {
  const YamlNode* const node = scalar(id, subject, what, must_be);
  if (node == nullptr) return std::nullopt;
  if (!text(*node).empty()) return std::string(text(*node));
  problem(node->place, what, " of ", subject.text(), " is empty; write ", must_be);
  return std::nullopt;
}

std::optional<std::int64_t> MappingReader::number_of(std::uint32_t id, const Subject& subject,
                                                     std::string_view what, std::int64_t least,
                                                     std::int64_t most) {
  const std::string range = join("a whole number from ", std::to_string(least), " to ", std::to_string(most));
  const YamlNode* const node = scalar(id, subject, what, range);
  if (node == nullptr) return std::nullopt;
  const auto value = node->plain ? base::parse_digits(text(*node)) : std::nullopt;
  if (value && *value >= least && *value <= most) return value;
  problem(node->place, what, " of ", subject.text(), " is ", quoted(text(*node)), "; use ", range);
  return std::nullopt;
}

std::vector<std::uint32_t> MappingReader::elements_of(std::uint32_t id) const {
  if (tree_[id].kind != NodeKind::list) return {id};
  std::vector<std::uint32_t> elements;
  for (std::uint32_t at = id + 1; at < tree_[id].end; at = tree_[at].end)
    elements.push_back(tree_.target(at));
  return elements;
}

void MappingReader::count(std::uint32_t id) {
  // A value with many aliases is read once for each, so a small file could cost very much.
  if (++visited_ <= max_nodes || exhausted_) return;
  exhausted_ = true;
  problem(tree_[id].place, "with its aliases the file has more than ", std::to_string(max_nodes),
          " values; split the file");
}

}  // namespace weir::config

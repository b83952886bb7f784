// Reads the mappings of a YAML tree: those with known fields, and those with names chosen by the user.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/problems.h"
#include "config/yaml_tree.h"

namespace weir::config {

/// The subject of a mapping, formatted only for a message: `entity "key-1" on resource "gpt-4"`.
struct Subject {
  const char* what;
  std::string_view name = {};
  std::string_view on_resource = {};
  const char* part = "";  ///< "limits of ": a part of it
  std::string text() const;
  Subject part_of(const char* which) const { return {what, name, on_resource, which}; }
};

/// One entry of a mapping. The value is never an alias.
struct MappingEntry {
  std::string_view name;
  FilePosition place;  ///< of the name
  std::uint32_t value;
};

/// Walks one tree. A mistake is reported as a problem, and the walk continues without that part.
class MappingReader {
 public:
  MappingReader(const YamlTree& tree, Problems& problems) : tree_(tree), problems_(problems) {}

  /// The value of each field, in the order of `names`; 0 (the root, which is no value) if it is missing.
  /// Unknown fields are problems, and so is a node that is no mapping; `example` shows the correct form.
  template <std::size_t N>
  std::array<std::uint32_t, N> fields(std::uint32_t id, const Subject& subject,
                                      const std::array<std::string_view, N>& names, const char* example) {
    std::array<std::uint32_t, N> found{};
    for (const MappingEntry& entry : entries(id, subject, example)) {
      const auto* field = std::find(names.begin(), names.end(), entry.name);
      if (field == names.end()) {
        unknown_field(entry, subject, names);
        // Continues with the field that was probably meant, so that it is not reported as missing and its
        // content is checked.
        field = std::find(names.begin(), names.end(), base::closest(entry.name, names));
      }
      if (field != names.end()) found[static_cast<std::size_t>(field - names.begin())] = entry.value;
    }
    return found;
  }

  /// All entries; a name that is given twice, that is no text, or that is `<<`, is a problem and left out.
  std::vector<MappingEntry> entries(std::uint32_t id, const Subject& subject, const char* example);

  /// The text of a scalar; otherwise null, and a problem with `must_be`.
  const YamlNode* scalar(std::uint32_t id, const Subject& subject, std::string_view what,
                         std::string_view must_be);

  /// The text of a scalar that is not empty; otherwise nothing, and a problem with `must_be`.
  std::optional<std::string> text_of(std::uint32_t id, const Subject& subject, std::string_view what,
                                     std::string_view must_be);
  /// A whole number in a range, written in digits; otherwise nothing, and a problem.
  std::optional<std::int64_t> number_of(std::uint32_t id, const Subject& subject, std::string_view what,
                                        std::int64_t least, std::int64_t most);
  /// The elements of a list, or a single value as a list. None is an alias.
  std::vector<std::uint32_t> elements_of(std::uint32_t id) const;

  bool is_empty(std::uint32_t id) const {
    return tree_[id].kind == NodeKind::nothing ||
           (tree_[id].kind == NodeKind::mapping && tree_[id].end == id + 1);
  }
  const YamlNode& node(std::uint32_t id) const { return tree_[id]; }
  std::string_view text(const YamlNode& node) const { return tree_.text(node); }
  FilePosition place(std::uint32_t id) const { return tree_[id].place; }
  template <class... Parts>
  void problem(FilePosition place, const Parts&... parts) {
    problems_.add(place, base::join(parts...));
  }
  /// True once aliases have expanded the file too much; everything reads as empty from then on.
  bool exhausted() const { return exhausted_; }

 private:
  void unknown_field(const MappingEntry& entry, const Subject& subject,
                     std::span<const std::string_view> names);
  bool has_name(std::uint32_t key, const Subject& subject);
  void drop_repeated(std::vector<MappingEntry>& entries, const Subject& subject);
  void count(std::uint32_t id);

  const YamlTree& tree_;
  Problems& problems_;
  std::size_t visited_ = 0;
  bool exhausted_ = false;
};

template <class Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

/// Sets `into` to the value of one of several words; a problem names them all.
template <class Value>
void read_word(MappingReader& in, std::uint32_t id, const Subject& subject, std::string_view what,
               const Words<Value>& words, Value& into) {
  std::string choices;
  for (const auto& [word, value] : words) {
    if (!choices.empty()) choices += word == words.back().first ? " or " : ", ";
    choices += word;
  }
  const YamlNode* const node = in.scalar(id, subject, what, choices);
  if (node == nullptr) return;
  for (const auto& [word, value] : words) {
    if (in.text(*node) == word) {
      into = value;
      return;
    }
  }
  in.problem(node->place, what, " of ", subject.text(), " is ", base::quoted(in.text(*node)), "; use ",
             choices);
}

}  // namespace weir::config

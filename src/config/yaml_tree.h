// YAML as a tree of nodes with their positions in the file. Made from the events of yaml-cpp, whose own graph
// of nodes takes longer to build and destroy than the text takes to parse.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/problems.h"

namespace weir::config {

enum class NodeKind : std::uint8_t { nothing, scalar, mapping, list, alias };

/// "empty", "text", "a mapping" or "a list", for messages.
const char* name_of(NodeKind kind);

/// Nodes are in the order of the text, each followed by its children: the entries of a list, the alternating
/// keys and values of a mapping.
struct YamlNode {
  NodeKind kind = NodeKind::nothing;
  bool plain = true;          ///< scalars: without quotes
  std::uint32_t end = 0;      ///< the first node that is not inside this one
  std::uint32_t text_at = 0;  ///< scalars: the position of the text; aliases: the node that they refer to
  std::uint32_t text_size = 0;
  FilePosition place = {};
};

class YamlTree {
 public:
  using Progress = std::function<void(std::size_t done, std::size_t of)>;

  /// Parses one document. Nothing, and a problem, if weir does not accept it: malformed, several documents,
  /// not UTF-8, too large, too deep, with tags or unknown aliases. A text without a document is a tree with
  /// one empty node.
  static std::optional<YamlTree> read(std::string_view text, Problems& problems, const Progress& progress);

  /// The node, or the one that it refers to if it is an alias.
  std::uint32_t target(std::uint32_t id) const {
    return nodes_[id].kind == NodeKind::alias ? nodes_[id].text_at : id;
  }
  const YamlNode& operator[](std::uint32_t id) const { return nodes_[id]; }
  std::string_view text(const YamlNode& node) const {
    return std::string_view(texts_).substr(node.text_at, node.text_size);
  }

 private:
  friend class TreeBuilder;
  std::vector<YamlNode> nodes_;
  std::string texts_;
};

}  // namespace weir::config

#include "config/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "base/maxima.h"
#include "base/text.h"
#include "config/limits_file.h"

namespace weir::config {
namespace {

using base::join;

constexpr std::size_t max_depth = maxima::yaml_depth;

/// Thrown to stop the parser from inside an event.
struct Refused {
  FilePosition place;
  std::string message;
};

FilePosition place_of(const YAML::Mark& mark) {
  return {static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1,
          static_cast<std::uint32_t>(std::max(mark.column, 0)) + 1};
}

/// Reads from a text without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // never written: there is no put area
    setg(begin, begin, begin + text.size());
  }
};

FilePosition place_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<std::uint32_t>(at - line_start) + 1};
}

/// Refuses input that yaml-cpp would guess about or accept.
void check_bytes(std::string_view text) {
  if (text.size() > max_file_bytes) {
    throw Refused{{},
                  join("the file is larger than ", std::to_string(max_file_bytes >> 20), " MiB; split it")};
  }
  if (const auto at = base::find_not_utf8(text))
    throw Refused{place_at(text, *at), "this byte is not UTF-8; save the file as UTF-8"};
  const auto* const control = std::find_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  });
  if (control != text.end()) {
    throw Refused{place_at(text, static_cast<std::size_t>(control - text.begin())),
                  "a control character; remove it"};
  }
}

/// The problem of a text that is not YAML. A tab in the indentation is the usual cause of an error in its
/// line, and what yaml-cpp says about it is not.
Refused unreadable(std::string_view text, const YAML::Exception& broken) {
  const FilePosition place = place_of(broken.mark);
  for (std::uint32_t line = 1; line < place.line; ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  const std::size_t tab = text.substr(0, text.find_first_not_of(" \t")).find('\t');
  if (tab != std::string_view::npos) {
    return {
        {place.line, static_cast<std::uint32_t>(tab) + 1},
        "a tab at the start of the line; YAML is indented with spaces only, so replace the tab with spaces"};
  }
  std::string_view advice = "; look at the indentation, brackets and quotes here and above";
  if (broken.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR)
    advice = "; define it above, as in \"limits: &name {rpm: 100/min}\"";
  if (broken.msg == YAML::ErrorMsg::MAP_VALUE)
    advice =
        "; put quotes around a value that ends with a colon or has \": \" in it, and look at the indentation";
  return {place, join("not readable as YAML: ", broken.msg, advice)};
}

bool is_text_tag(const std::string& tag) { return tag == "!" || tag == "tag:yaml.org,2002:str"; }

}  // namespace

const char* name_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::scalar:
      return "text";
    case NodeKind::mapping:
      return "a mapping";
    case NodeKind::list:
      return "a list";
    default:
      return "empty";
  }
}

/// Takes the events of the parser and appends nodes.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(YamlTree& tree, std::size_t size, const YamlTree::Progress& progress)
      : tree_(tree), size_(size), progress_(progress) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_)
      throw Refused{place_of(mark),
                    "a second document starts here; the file must be one, remove the \"---\""};
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::uint32_t id = add(NodeKind::nothing, mark, anchor);
    // yaml-cpp gives a missing value the position of the next token; that of its name is more useful.
    if (id > 0 && tree_.nodes_[id - 1].place.line < tree_.nodes_[id].place.line)
      tree_.nodes_[id].place = tree_.nodes_[id - 1].place;
    close(id);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    const std::uint32_t id = add(NodeKind::scalar, mark, anchor);
    YamlNode& node = tree_.nodes_[id];
    node.plain = !is_text_tag(tag);
    node.text_at = static_cast<std::uint32_t>(tree_.texts_.size());
    node.text_size = static_cast<std::uint32_t>(value.size());
    tree_.texts_ += value;
    close(id);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::uint32_t target = anchor < anchors_.size() ? anchors_[anchor] : 0;
    if (tree_.nodes_[target].end == 0)
      throw Refused{place_of(mark), "this alias stands inside what it stands for; write it out"};
    const std::uint32_t id = add(NodeKind::alias, mark, 0);
    tree_.nodes_[id].text_at = target;
    close(id);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(NodeKind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close_open(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(NodeKind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close_open(); }

 private:
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:")) return;
    throw Refused{place_of(mark), join("tag ", base::quoted(tag), " is not known here; remove it")};
  }
  std::uint32_t add(NodeKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (tree_.nodes_.size() == max_nodes)
      throw Refused{place_of(mark), join("more than ", std::to_string(max_nodes), " values; split the file")};
    report(static_cast<std::size_t>(std::max(mark.pos, 0)));
    const auto id = static_cast<std::uint32_t>(tree_.nodes_.size());
    tree_.nodes_.push_back({.kind = kind, .place = place_of(mark)});
    if (anchor != 0) {
      anchors_.resize(std::max<std::size_t>(anchors_.size(), anchor + 1));
      anchors_[anchor] = id;
    }
    return id;
  }
  void close(std::uint32_t id) { tree_.nodes_[id].end = static_cast<std::uint32_t>(tree_.nodes_.size()); }
  void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    if (open_.size() == max_depth) throw Refused{place_of(mark), "nested too deeply"};
    open_.push_back(add(kind, mark, anchor));
  }
  void close_open() {
    close(open_.back());
    open_.pop_back();
  }
  void report(std::size_t position) {
    constexpr std::size_t interval = std::size_t{64} << 10;
    if (position < next_report_ || !progress_) return;
    next_report_ = position + interval;
    progress_(position, size_);
  }

  YamlTree& tree_;
  std::size_t size_;
  const YamlTree::Progress& progress_;
  std::vector<std::uint32_t> anchors_;  ///< the node of each anchor, by the parser's number
  std::vector<std::uint32_t> open_;
  std::size_t next_report_ = 0;
  bool started_ = false;
};

std::optional<YamlTree> YamlTree::read(std::string_view text, Problems& problems, const Progress& progress) {
  YamlTree tree;
  try {
    check_bytes(text);
    if (text.starts_with("\xef\xbb\xbf"))
      text.remove_prefix(3);  // a byte-order mark, which some editors write
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    TreeBuilder builder(tree, text.size(), progress);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refused& refused) {
    problems.add(refused.place, refused.message);
    return std::nullopt;
  } catch (const YAML::Exception& broken) {
    const Refused refused = unreadable(text, broken);
    problems.add(refused.place, refused.message);
    return std::nullopt;
  }
  if (tree.nodes_.empty()) tree.nodes_.push_back({.end = 1});
  if (progress) progress(text.size(), text.size());
  return tree;
}

}  // namespace weir::config

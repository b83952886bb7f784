// The protocol of Redis, versions 2 and 3, without sockets: replies are read, commands are written.
//
// A reply is read once, as its bytes arrive, into a list of nodes in the order of the text: a parent, then
// its children. Nodes hold the position of their text, so that nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::wire::resp {

enum class Type : std::uint8_t {
  text,     ///< a simple, bulk or verbatim string, a big number or a floating-point number, as it was sent
  error,    ///< simple or bulk
  integer,  ///< also true (1) and false (0)
  null,     ///< in version 2 a null string or null array
  array,    ///< also a set
  map,      ///< names and values in turn
  push,     ///< not an answer to any command
};

struct Node {
  Type type = Type::null;
  std::int64_t integer = 0;
  std::size_t at = 0;    ///< of the text, from the beginning of the reply
  std::size_t size = 0;  ///< of the text
  std::size_t end = 0;   ///< the index behind the last node below this one
};

/// The bounds of a reply, so that a broken peer cannot exhaust the memory.
struct ReplyLimits {
  std::size_t bytes = std::size_t{256} << 20U;
  std::size_t nodes = std::size_t{4} << 20U;
  std::size_t depth = 16;
};

/// A reply, or a part of one. Points into the bytes and the reader that it came from.
class Reply {
 public:
  Reply(const char* bytes, const std::vector<Node>& nodes, std::size_t index)
      : bytes_(bytes), nodes_(&nodes), index_(index) {}

  Type type() const { return node().type; }
  bool is_null() const { return type() == Type::null; }
  bool is_error() const { return type() == Type::error; }
  bool is_text() const { return type() == Type::text; }
  bool is_list() const { return type() == Type::array || type() == Type::map || type() == Type::push; }
  /// Of a text or an error; empty otherwise.
  std::string_view text() const { return {bytes_ + node().at, node().size}; }
  /// Of an integer, or of a text that is one.
  std::optional<std::int64_t> integer() const;
  /// How many children it has; a map has two for each member.
  std::size_t size() const;

  class Children;
  Children children() const;
  /// The texts of the children, in order; those that are no text are empty.
  std::vector<std::string_view> texts() const;

 private:
  static const std::vector<Node>& no_nodes();
  const Node& node() const { return (*nodes_)[index_]; }

  const char* bytes_;
  const std::vector<Node>* nodes_;
  std::size_t index_;
};

/// Walks over the children of a list.
class Reply::Children {
 public:
  explicit Children(const Reply& of) : at_(of), end_(of.node().end) { ++at_.index_; }
  bool at_end() const { return at_.index_ == end_; }
  const Reply& operator*() const { return at_; }
  const Reply* operator->() const { return &at_; }
  Children& operator++() {
    at_.index_ = at_.node().end;
    return *this;
  }
  /// The current child, and steps to the next. Null past the end.
  Reply next();

 private:
  Reply at_;
  std::size_t end_;
};

inline Reply::Children Reply::children() const { return Children(*this); }

/// Reads one reply after the other from bytes that arrive piece by piece.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyLimits& limits = {}) : limits_(limits) {}

  enum class Status : std::uint8_t { complete, incomplete, malformed };
  /// `bytes` start with the reply: the bytes of the last call, and more after them.
  Status read(std::string_view bytes);
  /// After complete: how many bytes the reply has, and the reply, valid until reset().
  std::size_t size() const { return at_; }
  Reply reply(const char* bytes) const { return {bytes, nodes_, 0}; }
  /// Starts the next reply.
  void reset();

 private:
  struct Open {
    std::size_t node;
    std::size_t left;  ///< children that are still to come
  };
  Status read_value(std::string_view bytes);
  Status read_line(std::string_view bytes, std::string_view& line);
  Status read_blob(std::string_view bytes, Type type, std::string_view length);
  Status open_list(Type type, std::string_view count, std::size_t per_member);
  Status add_number(std::string_view text);
  void add(Type type, std::size_t at, std::size_t size, std::int64_t integer = 0);
  void close_lists();

  ReplyLimits limits_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;
  std::size_t at_ = 0;       ///< how far the bytes are read
  std::size_t scanned_ = 0;  ///< how far the end of a line was looked for
};

/// Appends the beginning of a command with this many words, its name included.
void append_command(std::string& out, std::size_t words);
/// Appends one word of a command.
void append_word(std::string& out, std::string_view word);
void append_word(std::string& out, std::int64_t number);
/// A whole command.
std::string command(std::initializer_list<std::string_view> words);

/// The slot of Redis Cluster that a key belongs to: that of the part in the first braces, if there is one.
unsigned slot_of(std::string_view key);

}  // namespace weir::wire::resp

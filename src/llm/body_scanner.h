// Follows the body of a request that is too large to be kept, while it passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/maxima.h"
#include "llm/deciding.h"
#include "llm/endpoint.h"

namespace weir::llm {

/// Finds what makes programs read a body differently: mistakes in its JSON, and members that decide what is
/// charged and stand twice or in another case. Takes the body in pieces of any size, and keeps no more than
/// one name.
class BodyScanner {
 public:
  void start(Api api);
  /// The next piece. The first problem is reported again for every later piece.
  std::optional<Unreadable> feed(std::string_view bytes);
  /// The same for a body that ends here.
  std::optional<Unreadable> end() const;
  /// The deciding members so far.
  const SeenMembers& seen() const { return seen_; }

 private:
  /// What may come next, beside white space.
  enum class Next : std::uint8_t { body, value, first_element, first_name, name, colon, comma, nothing };
  /// What the last byte is in.
  enum class In : std::uint8_t { none, text, escape, hex, word };

  void take(char c);
  void take_text(char c);
  void take_escape(char c);
  bool take_word(char c);
  void take_mark(char c);
  void open(bool object);
  void close(bool object);
  void start_text();
  void end_text();
  void start_word(char c);
  void end_word();
  void end_value() { next_ = depth_ == 0 ? Next::nothing : Next::comma; }
  void note_name();
  void keep(char c);
  bool in_object() const { return depth_ > 0 && (objects_ >> (depth_ - 1) & 1U) != 0; }
  void fail() { problem_ = no_json; }
  /// Of a name in its longest spelling, or of a number; none that matters is longer.
  static constexpr std::size_t largest = 512;

  Api api_ = Api::other;
  Next next_ = Next::body;
  In in_ = In::none;
  bool is_name_ = false;  ///< the text is the name of a member
  unsigned depth_ = 0;
  unsigned hex_left_ = 0;      ///< digits of \uXXXX that are missing
  std::uint64_t objects_ = 0;  ///< a bit for each level: whether it is an object
  static_assert(maxima::json_depth <= 64);
  std::string kept_;  ///< a name of the body, or a word, as written
  SeenMembers seen_;
  std::optional<Unreadable> problem_;
};

}  // namespace weir::llm

// Reads untrusted JSON value by value, without a library: strict (RFC 8259), bounded in depth, and copying
// only the requested texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/maxima.h"

namespace weir::wire::json {

/// Walks one document. The first mistake wins: after it nothing is read and failed() is true.
///
///     Reader reader(text);
///     std::string key;
///     for (reader.object(); reader.member(key);) key == "size" ? reader.number(size) : reader.skip();
///     if (!reader.end()) ...
class Reader {
 public:
  static constexpr unsigned deepest = maxima::json_depth;

  /// The text must outlive the reader.
  explicit Reader(std::string_view text) : text_(text) {}

  enum class Kind : unsigned char { object, array, string, number, boolean, null, none };
  /// The kind of the next value; none if there is no value.
  Kind peek();

  /// Steps into an object; false if there is none.
  bool object();
  /// The name of the next member, whose value must be read or skipped; false at the object's end.
  bool member(std::string& name);
  /// Steps into an array.
  bool array();
  /// Whether another element follows, which must be read or skipped; false at the array's end.
  bool element();

  bool string(std::string& out);
  /// A number as written.
  bool number(std::string_view& out);
  bool boolean(bool& out);
  bool null();
  /// Skips a whole value, which must be well-formed.
  bool skip();
  /// As skip(), and `out` is the value as written.
  bool raw(std::string_view& out);
  /// How many bytes of the text were read.
  std::size_t at() const { return at_; }

  /// Whether the document was read without a mistake and nothing follows it.
  bool end();
  bool failed() const { return failed_; }

 private:
  void space();
  bool take(char c);
  bool word(std::string_view word);
  bool fail();
  bool open(char c);
  bool follow(char close);
  bool escape(std::string& out);
  bool hex4(unsigned& out);
  bool digits();

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  bool first_ = false;  ///< nothing was read yet in the object or array that was entered last
  bool failed_ = false;
};

}  // namespace weir::wire::json

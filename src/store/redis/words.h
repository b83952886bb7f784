// The words that texts in Redis consist of, separated by spaces. Arbitrary text is percent-encoded; an empty
// text is %.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::redis {

class Words {
 public:
  Words& number(std::int64_t number);
  /// A name: it has no space in it and is not empty.
  Words& name(std::string_view name);
  Words& text(std::string_view text);
  std::string& str() { return text_; }

 private:
  void separate();
  std::string text_;
};

/// Reads words. On malformed input it returns nothing and sets failed().
class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}
  std::int64_t number();
  /// The number of items that follow, each of at least one word; -1 where that is allowed.
  std::int64_t count();
  std::string_view name();
  std::string text();
  bool failed() const { return failed_; }
  /// Call it if the words that were read are not possible.
  void fail() { failed_ = true; }
  bool at_end() const { return text_.empty(); }
  /// Everything was read without an error.
  bool done() const { return !failed_ && at_end(); }

 private:
  std::string_view text_;
  bool failed_ = false;
};

/// Whether a number that was read is one from 0 to `most`.
inline bool in_range(std::int64_t number, std::int64_t most) { return number >= 0 && number <= most; }

}  // namespace weir::redis

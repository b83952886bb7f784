// The forms of a request's path: as it was sent, and as servers behind the gateway may read it.
//
// Two programs can read one path differently: one decodes %2F before it matches, another resolves "..", a
// third ignores ";x" or upper case. A route that is chosen by one reading must not be bypassed by another.
#pragma once

#include <string>
#include <string_view>

namespace weir::gateway {

/// Why the meaning of a path depends on the program that reads it.
enum class PathTrouble : unsigned char {
  none,
  escape,       ///< "%" that two hexadecimal digits do not follow
  control,      ///< an encoded control character, such as %00 or %0A
  slash,        ///< an encoded slash, or a backslash in any spelling
  dot_segment,  ///< "." or ".." as a segment, in any spelling, also "..;x"
};

/// Whether programs read the canonical form differently, too.
bool is_hopeless(PathTrouble trouble);

/// The reason as text for the answer; empty for none.
std::string_view reason_of(PathTrouble trouble);

/// Whether no program reads the path otherwise than it was sent, as nearly every path: no escapes,
/// backslashes, parameters, empty segments or segments that begin with a dot, and no upper case.
bool is_plain(std::string_view path);

/// The forms of one path. Reused for path after path; keeps its allocations.
class PathForms {
 public:
  /// The views are valid until the next call; `path` itself must outlive them.
  void set(std::string_view path);

  bool is_plain() const { return plain_; }
  std::string_view raw() const { return raw_; }
  /// Escapes of letters, digits and -._~ decoded, others in upper case; backslashes and encoded slashes as
  /// slashes; dot segments resolved; one slash where there were several.
  std::string_view canonical() const { return plain_ ? raw_ : std::string_view(canonical_); }
  /// The canonical form without the parameters of segments: "/a;x=1/b" as "/a/b".
  std::string_view without_parameters() const { return plain_ ? raw_ : std::string_view(bare_); }
  PathTrouble trouble() const { return trouble_; }

 private:
  std::string_view raw_;
  std::string decoded_;
  std::string canonical_;
  std::string bare_;
  PathTrouble trouble_ = PathTrouble::none;
  bool plain_ = true;
};

}  // namespace weir::gateway

// The members of a request that decide what is charged.
#pragma once

#include <optional>
#include <string_view>

#include "llm/endpoint.h"

namespace weir::llm {

/// Each may be in a body once; the values are those of a set.
enum class Member : unsigned {
  none = 0,
  model = 1,
  limit = 2,
  other_limit = 4,
  stream = 8,
  options = 16,  ///< stream_options, or Gemini's generationConfig
  choices = 32,
  wish = 64,  ///< for the usage, in the options
  background = 128,
};

/// The object that a member is in.
enum class Within : unsigned char { body, options };

struct Deciding {
  Member member = Member::none;
  bool other_case = false;  ///< the name is that of the member for programs that ignore case only
};

Deciding deciding(Api api, Within within, std::string_view name);

/// Why a body cannot be read. The text is for the client.
struct Unreadable {
  std::string_view why;
};

/// Notes the members of a body.
class SeenMembers {
 public:
  /// Programs differ in which of two members they take, and in whether they ignore case.
  std::optional<Unreadable> note(const Deciding& found);
  bool has(Member member) const { return (seen_ & static_cast<unsigned>(member)) != 0; }
  friend bool operator==(const SeenMembers&, const SeenMembers&) = default;

 private:
  unsigned seen_ = 0;
};

inline constexpr Unreadable no_json{"the body is not valid JSON"};
inline constexpr Unreadable in_other_case{
    "the body has a member that differs only in case from one that decides what is charged"};

}  // namespace weir::llm

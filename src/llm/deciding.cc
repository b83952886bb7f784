#include "llm/deciding.h"

#include <array>
#include <span>
#include <string>

#include "wire/http_chars.h"

namespace weir::llm {
namespace {

struct Known {
  std::string_view name;
  Member member;
};

constexpr std::array<Known, 6> chat{{{"model", Member::model},
                                     {"stream", Member::stream},
                                     {"max_tokens", Member::limit},
                                     {"max_completion_tokens", Member::other_limit},
                                     {"stream_options", Member::options},
                                     {"n", Member::choices}}};
constexpr std::array<Known, 1> chat_options{{{"include_usage", Member::wish}}};
constexpr std::array<Known, 4> responses{{{"model", Member::model},
                                          {"stream", Member::stream},
                                          {"max_output_tokens", Member::limit},
                                          {"background", Member::background}}};
constexpr std::array<Known, 2> embeddings{{{"model", Member::model}, {"stream", Member::stream}}};
constexpr std::array<Known, 3> messages{
    {{"model", Member::model}, {"stream", Member::stream}, {"max_tokens", Member::limit}}};
constexpr std::array<Known, 2> gemini{
    {{"generationConfig", Member::options}, {"generation_config", Member::options}}};
constexpr std::array<Known, 4> gemini_options{{{"maxOutputTokens", Member::limit},
                                               {"max_output_tokens", Member::limit},
                                               {"candidateCount", Member::choices},
                                               {"candidate_count", Member::choices}}};

std::span<const Known> members_of(Api api, Within within) {
  const bool body = within == Within::body;
  switch (api) {
    case Api::chat:
      return body ? std::span<const Known>(chat) : chat_options;
    case Api::responses:
      return body ? std::span<const Known>(responses) : std::span<const Known>();
    case Api::embeddings:
      return body ? std::span<const Known>(embeddings) : std::span<const Known>();
    case Api::messages:
      return body ? std::span<const Known>(messages) : std::span<const Known>();
    case Api::gemini:
      return body ? std::span<const Known>(gemini) : gemini_options;
    case Api::other:
      break;
  }
  return {};
}

/// The name as programs read it that ignore case. Go takes U+212A for k and U+017F for s as well.
std::string folded(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with("\xE2\x84\xAA")) {
      out += 'k';
      i += 2;
    } else if (rest.starts_with("\xC5\xBF")) {
      out += 's';
      i += 1;
    } else {
      out += wire::http::lower(name[i]);
    }
  }
  return out;
}

}  // namespace

Deciding deciding(Api api, Within within, std::string_view name) {
  const auto known = members_of(api, within);
  for (const Known& candidate : known) {
    if (candidate.name == name) return {candidate.member};
  }
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  const std::string text = folded(name);
  for (const Known& candidate : known) {
    if (wire::http::same_name(candidate.name, text)) return {candidate.member, true};
  }
  return {};
}

std::optional<Unreadable> SeenMembers::note(const Deciding& found) {
  if (found.other_case) return in_other_case;
  const auto bit = static_cast<unsigned>(found.member);
  if ((seen_ & bit) != 0) return Unreadable{"the body has a member twice that decides what is charged"};
  seen_ |= bit;
  return std::nullopt;
}

}  // namespace weir::llm

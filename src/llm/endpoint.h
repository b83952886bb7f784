// The vendors of language models, and which of their calls a request makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::llm {

enum class Vendor : std::uint8_t { openai, anthropic, gemini };

/// The calls whose usage can be read.
enum class Api : std::uint8_t {
  chat,        ///< OpenAI chat completions, and its older completions
  responses,   ///< OpenAI responses
  embeddings,  ///< OpenAI embeddings
  messages,    ///< Anthropic messages
  gemini,      ///< Gemini generateContent and streamGenerateContent
  other,       ///< any other call: it is counted as a request, and uses no tokens
};

struct Endpoint {
  Vendor vendor = Vendor::openai;
  Api api = Api::other;
  std::string_view model = {};  ///< where the path names it (Gemini, Azure); the body's does not count then
  bool streams = false;         ///< where the path says so (Gemini)
};

/// The call that a decoded path names, in upper or lower case. `vendor`: the vendor behind the route, which
/// may offer the APIs of others as well; nothing: derived from the path.
Endpoint endpoint_of(std::optional<Vendor> vendor, std::string_view path);

}  // namespace weir::llm

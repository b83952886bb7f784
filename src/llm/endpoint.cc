#include "llm/endpoint.h"

namespace weir::llm {
namespace {

/// Gemini names model and verb in one segment: "/v1beta/models/gemini-2.0-flash:generateContent".
std::optional<Endpoint> gemini_call(std::string_view path) {
  constexpr std::string_view models = "/models/";
  const std::size_t at = path.rfind(models);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view last = path.substr(at + models.size());
  const std::size_t colon = last.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view verb = last.substr(colon + 1);
  const bool streams = verb == "streamGenerateContent";
  const bool reads = streams || verb == "generateContent";
  return Endpoint{Vendor::gemini, reads ? Api::gemini : Api::other, last.substr(0, colon), streams};
}

struct Suffix {
  std::string_view text;
  Vendor vendor;
  Api api;
};

constexpr Suffix suffixes[] = {
    {"/completions", Vendor::openai, Api::chat},     // chat/completions, too
    {"/responses", Vendor::openai, Api::responses},  //
    {"/embeddings", Vendor::openai, Api::embeddings},
    {"/messages", Vendor::anthropic, Api::messages},
};

}  // namespace

Endpoint endpoint_of(std::optional<Vendor> vendor, std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  if (!vendor || *vendor == Vendor::gemini) {
    if (const auto call = gemini_call(path)) return *call;
  }
  for (const Suffix& suffix : suffixes) {
    if ((!vendor || *vendor == suffix.vendor) && path.ends_with(suffix.text))
      return {suffix.vendor, suffix.api};
  }
  // Errors need some vendor's form; most clients read OpenAI's.
  const bool anthropic = path.find("/messages/") != std::string_view::npos;
  return {vendor.value_or(anthropic ? Vendor::anthropic : Vendor::openai), Api::other};
}

}  // namespace weir::llm

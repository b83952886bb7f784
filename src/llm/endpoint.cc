#include "llm/endpoint.h"

#include <algorithm>

#include "wire/http_chars.h"

namespace weir::llm {
namespace {

using wire::http::same_name;

/// Servers may read a path without regard to case.
bool ends_with(std::string_view path, std::string_view end) {
  return path.size() >= end.size() && same_name(path.substr(path.size() - end.size()), end);
}

/// Gemini names model and verb in one segment: "/v1beta/models/gemini-2.0-flash:generateContent".
std::optional<Endpoint> gemini_call(std::string_view path) {
  const std::size_t colon = path.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view verb = path.substr(colon + 1);
  const bool streams = same_name(verb, "streamGenerateContent");
  const bool reads = streams || same_name(verb, "generateContent");
  constexpr std::string_view models = "/models/";
  const std::size_t at = path.rfind(models, colon);
  const bool named = at != std::string_view::npos && at + models.size() <= colon;
  if (!named && !reads) return std::nullopt;
  // A tuned model stands elsewhere: "/v1beta/tunedModels/mine:generateContent".
  const std::size_t begin = named ? at + models.size() : path.rfind('/', colon) + 1;
  return Endpoint{Vendor::gemini, reads ? Api::gemini : Api::other, path.substr(begin, colon - begin),
                  streams};
}

constexpr std::string_view messages_end = "/messages";

struct Suffix {
  std::string_view text;
  Vendor vendor;
  Api api;
};

constexpr Suffix suffixes[] = {
    {"/completions", Vendor::openai, Api::chat},     // chat/completions, too
    {"/responses", Vendor::openai, Api::responses},  //
    {"/embeddings", Vendor::openai, Api::embeddings},
    {messages_end, Vendor::anthropic, Api::messages},
};

/// Azure names in the path what it serves, and ignores the model in the body:
/// "/openai/deployments/mine/chat/completions". Empty: the path names nothing.
std::string_view deployment_of(std::string_view path, const Suffix& suffix) {
  constexpr std::string_view before = "/openai/deployments/";
  const auto same = [](char a, char b) { return wire::http::lower(a) == b; };
  const auto at = std::search(path.begin(), path.end(), before.begin(), before.end(), same);
  if (at == path.end()) return {};
  path.remove_prefix(static_cast<std::size_t>(at - path.begin()) + before.size());
  if (path.size() <= suffix.text.size()) return {};
  path.remove_suffix(suffix.text.size());
  constexpr std::string_view of_chat = "/chat";
  if (ends_with(path, of_chat)) path.remove_suffix(of_chat.size());
  return path;
}

/// Whether messages are those of OpenAI's Assistants, which use no tokens: "/v1/threads/thread_1/messages".
bool has_thread(std::string_view path) {
  constexpr std::string_view threads = "/threads";
  if (!ends_with(path, messages_end)) return false;
  path.remove_suffix(messages_end.size());
  return ends_with(path.substr(0, path.rfind('/')), threads);
}

Endpoint told_by(std::string_view path) {
  if (has_thread(path)) return {};
  for (const Suffix& suffix : suffixes) {
    if (ends_with(path, suffix.text)) return {suffix.vendor, suffix.api, deployment_of(path, suffix)};
  }
  if (const auto call = gemini_call(path)) return *call;
  // Errors need some vendor's form; most clients read OpenAI's.
  const std::size_t at = path.find("/messages/");
  const bool anthropic =
      at != std::string_view::npos && !has_thread(path.substr(0, at + messages_end.size()));
  return {anthropic ? Vendor::anthropic : Vendor::openai, Api::other};
}

}  // namespace

Endpoint endpoint_of(std::optional<Vendor> vendor, std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  Endpoint endpoint = told_by(path);
  endpoint.vendor = vendor.value_or(endpoint.vendor);
  return endpoint;
}

}  // namespace weir::llm

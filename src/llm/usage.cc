#include "llm/usage.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace weir::llm {
namespace {

using wire::json::Reader;

/// Larger numbers have more digits than a machine can hold; they mean the bound as well.
std::int64_t tokens_of(std::string_view number) {
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return -1;
  if (number.size() > 18) return most_tokens;
  return std::min(base::parse_digits(number).value_or(-1), most_tokens);
}

}  // namespace

std::string_view usage_member(Api api) { return api == Api::gemini ? "usageMetadata" : "usage"; }

bool ReportedUsage::read(Reader& reader) {
  if (reader.peek() != Reader::Kind::object) {
    reader.skip();
    return false;
  }
  thread_local std::string name;
  thread_local std::string details;
  for (reader.object(); reader.member(name);) {
    if (reader.peek() == Reader::Kind::number) {
      std::string_view number;
      if (reader.number(number)) note(name, {}, number);
    } else if (reader.peek() == Reader::Kind::object && name.ends_with("_details")) {
      details = name;
      if (!read_details(reader, details)) return false;
    } else {
      reader.skip();
    }
  }
  return !reader.failed();
}

bool ReportedUsage::read_details(Reader& reader, std::string_view details) {
  thread_local std::string name;
  for (reader.object(); reader.member(name);) {
    std::string_view number;
    if (reader.peek() != Reader::Kind::number) {
      reader.skip();
    } else if (reader.number(number)) {
      note(name, details, number);
    }
  }
  return !reader.failed();
}

void ReportedUsage::note(std::string_view name, std::string_view details, std::string_view number) {
  const std::int64_t tokens = tokens_of(number);
  if (tokens < 0) return;
  const auto is = [&](std::string_view any, std::string_view other = {}, std::string_view third = {}) {
    return name == any || name == other || (!third.empty() && name == third);
  };
  const auto raise = [&](std::int64_t& figure) { figure = std::max(figure, tokens); };
  if (details.starts_with("prompt_") || details.starts_with("input_")) {
    if (is("cached_tokens")) raise(cached_);
    if (is("cache_write_tokens")) raise(written_);
  } else if (!details.empty()) {
    if (is("reasoning_tokens")) raise(reasoning_);
  } else if (is("prompt_tokens", "input_tokens", "promptTokenCount")) {
    has_input_ = true;
    raise(input_);
  } else if (is("completion_tokens", "output_tokens", "candidatesTokenCount")) {
    has_output_ = true;
    raise(output_);
  } else if (is("cache_read_input_tokens", "cachedContentTokenCount")) {
    raise(cached_);
  } else if (is("cache_creation_input_tokens")) {
    raise(written_);
  } else if (is("thoughtsTokenCount")) {
    raise(reasoning_);
  } else if (is("toolUsePromptTokenCount")) {
    raise(tool_input_);
  }
}

Usage ReportedUsage::disjoint(Api api) const {
  Usage usage{
      .input = input_, .cached_input = cached_, .cache_write = written_, .output = output_, .reasoning = 0};
  // Anthropic's three figures of the input are disjoint, and its output has the reasoning.
  if (api == Api::messages) return usage;
  const auto part = [](std::int64_t of, std::int64_t figure) { return std::min(of, figure); };
  usage.input = input_ + tool_input_;
  usage.cached_input = part(usage.input, cached_);
  usage.input -= usage.cached_input;
  usage.cache_write = part(usage.input, written_);
  usage.input -= usage.cache_write;
  // Gemini's candidates are without the thoughts; OpenAI's completion is with them.
  usage.reasoning = api == Api::gemini ? reasoning_ : part(output_, reasoning_);
  if (api != Api::gemini) usage.output -= usage.reasoning;
  return usage;
}

}  // namespace weir::llm

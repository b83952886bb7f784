#include "gateway/llm_settings.h"

#include <array>

#include "base/file.h"
#include "base/text.h"
#include "config/problems.h"
#include "config/yaml_tree.h"
#include "limits/names.h"
#include "wire/http_chars.h"

namespace weir::gateway {
namespace {

using base::quoted;
using config::MappingEntry;
using config::MappingReader;
using config::Subject;
using config::YamlNode;

constexpr const char* charge_example = "{tpm: input + 0.1*cached_input + output + reasoning}";
constexpr const char* models_example = "{gpt-4o-2024-11-20: gpt-4o}";

void read_models(MappingReader& in, std::uint32_t id, const Subject& subject, LlmSettings& settings) {
  for (const MappingEntry& entry : in.entries(id, subject.part_of("models of "), models_example)) {
    const YamlNode* const node = in.scalar(entry.value, subject, "models", "a resource for each model");
    if (node == nullptr) continue;
    if (auto checked = limits::check_resource(in.text(*node)); !checked) {
      in.problem(node->place, checked.error().message);
    } else {
      settings.models.emplace(entry.name, in.text(*node));
    }
  }
}

void read_charges(MappingReader& in, std::uint32_t id, const Subject& subject, LlmSettings& settings) {
  for (const MappingEntry& entry : in.entries(id, subject.part_of("charge of "), charge_example)) {
    if (auto checked = limits::check_limit_name(entry.name); !checked) {
      in.problem(entry.place, checked.error().message);
      continue;
    }
    const YamlNode* const node = in.scalar(entry.value, subject, "charge", "a sum such as input + output");
    if (node == nullptr) continue;
    auto expression = llm::Expression::parse(in.text(*node));
    if (!expression) {
      in.problem(node->place, "charge of ", quoted(entry.name), " of ", subject.text(), ": ",
                 expression.error().message);
    } else {
      settings.charges.set(entry.name, *std::move(expression));
    }
  }
}

void read_key(MappingReader& in, std::uint32_t id, const Subject& subject, LlmSettings& settings) {
  constexpr std::string_view must_be = "env:NAME or file:PATH";
  const YamlNode* const node = in.scalar(id, subject, "upstream_key", must_be);
  if (node == nullptr) return;
  const std::string_view text = in.text(*node);
  const bool good =
      (text.starts_with("env:") && text.size() > 4) || (text.starts_with("file:") && text.size() > 5);
  if (good) {
    settings.upstream_key_source = text;
  } else {
    // The value is not shown: it may be the key itself.
    in.problem(node->place, "upstream_key of ", subject.text(), " must be ", must_be,
               "; the key itself does not belong into this file");
  }
}

/// The price of one kind of token; `usual` where it is not given.
std::int64_t price_of(MappingReader& in, std::uint32_t id, const Subject& subject, std::string_view what,
                      std::int64_t usual) {
  if (id == 0) return usual;
  constexpr std::string_view must_be = "US dollars for a million tokens, such as 2.50";
  const YamlNode* const node = in.scalar(id, subject, what, must_be);
  if (node == nullptr) return usual;
  const auto price = llm::parse_millionths(in.text(*node));
  if (!price)
    in.problem(node->place, what, " of ", subject.text(), " is ", quoted(in.text(*node)), "; use ", must_be);
  return price.value_or(usual);
}

}  // namespace

std::optional<LlmSettings> read_llm(MappingReader& in, const LlmFields& fields, const Subject& subject) {
  if (fields.llm == 0) {
    for (const std::uint32_t id :
         {fields.models, fields.charge, fields.unknown_models, fields.unpriced, fields.prices,
          fields.upstream_key, fields.on_disconnect, fields.on_exhausted, fields.upstream_entity}) {
      if (id == 0) continue;
      in.problem(in.place(id), "this field of ", subject.text(),
                 " is for language models; add llm: openai, anthropic, gemini or auto");
    }
    return std::nullopt;
  }
  LlmSettings settings;
  using llm::Vendor;
  using Vendors = config::Words<std::optional<Vendor>>;
  config::read_word(in, fields.llm, subject, "llm",
                    Vendors{{"openai", Vendor::openai},
                            {"anthropic", Vendor::anthropic},
                            {"gemini", Vendor::gemini},
                            {"auto", std::nullopt}},
                    settings.vendor);
  const config::Words<Unknown> unknown{{"refuse", Unknown::refuse}, {"pass", Unknown::pass}};
  if (fields.unknown_models != 0)
    config::read_word(in, fields.unknown_models, subject, "unknown_models", unknown, settings.unknown_models);
  if (fields.unpriced != 0)
    config::read_word(in, fields.unpriced, subject, "unpriced", unknown, settings.unpriced);
  if (fields.on_disconnect != 0)
    config::read_word(
        in, fields.on_disconnect, subject, "on_disconnect",
        config::Words<OnDisconnect>{{"stop", OnDisconnect::stop}, {"finish", OnDisconnect::finish}},
        settings.on_disconnect);
  if (fields.on_exhausted != 0)
    config::read_word(in, fields.on_exhausted, subject, "on_exhausted",
                      config::Words<OnExhausted>{{"debt", OnExhausted::debt}, {"end", OnExhausted::end}},
                      settings.on_exhausted);
  if (fields.models != 0) read_models(in, fields.models, subject, settings);
  if (fields.charge != 0) read_charges(in, fields.charge, subject, settings);
  if (fields.upstream_key != 0) read_key(in, fields.upstream_key, subject, settings);
  if (fields.upstream_entity != 0) {
    const YamlNode* const node = in.scalar(fields.upstream_entity, subject, "upstream_entity", "an entity");
    const auto checked = node != nullptr ? limits::check_entity(in.text(*node)) : Result<void>();
    if (!checked) in.problem(node->place, checked.error().message);
    if (node != nullptr && checked) settings.upstream_entity = in.text(*node);
    if (fields.upstream_key == 0)
      in.problem(
          in.place(fields.upstream_entity), "upstream_entity of ", subject.text(),
          " follows the vendor's limits for the gateway's own key; add upstream_key: env:NAME or file:PATH");
  }
  if (fields.prices != 0) {
    const YamlNode* const node = in.scalar(fields.prices, subject, "prices", "a file");
    if (node != nullptr) settings.prices_file = in.text(*node);
  }
  return settings;
}

Result<Prices> read_prices(std::string_view text, std::string_view file) {
  config::Problems problems{std::string(file)};
  const auto tree = config::YamlTree::read(text, problems, {});
  if (!tree) return problems.error();
  MappingReader in(*tree, problems);
  constexpr const char* example = "{models: {gpt-4o: {input: 2.50, output: 10}}}";
  constexpr std::array<std::string_view, 1> top{"models"};
  const Subject whole{"the file"};
  const auto [models] = in.fields(0, whole, top, example);
  Prices prices;
  if (models == 0) {
    in.problem(in.place(0), "the file has no models; write ", example, ", for example");
  } else {
    for (const MappingEntry& entry : in.entries(models, whole.part_of("models of "), example)) {
      constexpr std::array<std::string_view, 5> names{"input", "output", "cached_input", "cache_write",
                                                      "reasoning"};
      const Subject subject{"model", entry.name};
      const auto [input, output, cached, written, reasoning] =
          in.fields(entry.value, subject, names, "{input: 2.50, output: 10}");
      if (input == 0 || output == 0)
        in.problem(entry.place, subject.text(),
                   " needs a price for input and one for output, such as {input: 2.50, output: 10}");
      llm::Price price;
      price.input = price_of(in, input, subject, "input", 0);
      price.output = price_of(in, output, subject, "output", 0);
      price.cached_input = price_of(in, cached, subject, "cached_input", price.input);
      price.cache_write = price_of(in, written, subject, "cache_write", price.input);
      price.reasoning = price_of(in, reasoning, subject, "reasoning", price.output);
      prices.emplace(entry.name, price);
    }
  }
  if (!problems.empty()) return problems.error();
  return prices;
}

Result<void> load_llm_files(
    LlmSettings& settings, const std::function<std::optional<std::string>(const std::string&)>& environment) {
  if (!settings.prices_file.empty()) {
    auto text = base::read_file(settings.prices_file);
    if (!text) return text.error();
    auto prices = read_prices(*text, settings.prices_file);
    if (!prices) return prices.error();
    settings.prices = std::make_shared<const Prices>(*std::move(prices));
  }
  const std::string& source = settings.upstream_key_source;
  if (source.empty()) return {};
  if (source.starts_with("env:")) {
    auto value = environment(source.substr(4));
    if (!value || value->empty())
      return base::invalid("upstream_key: the environment has no variable ", source.substr(4),
                           "; set it to the key");
    settings.upstream_key = *std::move(value);
  } else {
    auto text = base::read_file(source.substr(5));
    if (!text) return text.error();
    text->erase(text->find_last_not_of(" \t\r\n") + 1);
    settings.upstream_key = *std::move(text);
  }
  const bool good =
      !settings.upstream_key.empty() && wire::http::all(settings.upstream_key, wire::http::target_char);
  if (!good)
    return base::invalid("upstream_key: ", source, " is no key: it must be one line of visible ASCII");
  settings.upstream_bearer = base::join("Bearer ", settings.upstream_key);
  return {};
}

}  // namespace weir::gateway

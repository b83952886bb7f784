// Small texts on the way to a language model: the path of a call, an expression of a charge, a file of
// prices, and a vendor's fields with its remaining limits. Their values are within bounds, and a text that
// can be written reads as the same.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "gateway/llm_settings.h"
#include "llm/charge.h"
#include "llm/endpoint.h"
#include "llm/vendor_left.h"
#include "weir/amount.h"

namespace {

using namespace weir;
using namespace weir::llm;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_path(std::string_view path) {
  for (const std::optional<Vendor> vendor :
       {std::optional<Vendor>(), std::optional(Vendor::openai), std::optional(Vendor::anthropic),
        std::optional(Vendor::gemini)}) {
    const Endpoint endpoint = endpoint_of(vendor, path);
    require(!vendor || endpoint.vendor == *vendor);
    // A vendor may offer the APIs of others.
    require(vendor || endpoint.api != Api::messages || endpoint.vendor == Vendor::anthropic);
    require(vendor || endpoint.api != Api::gemini || endpoint.vendor == Vendor::gemini);
    require(!endpoint.streams || endpoint.api == Api::gemini);
    require(endpoint.model.empty() || path.find(endpoint.model) != std::string_view::npos);
    if (path.ends_with('/')) continue;
    const std::string slashed = std::string(path) + "/";
    const Endpoint same = endpoint_of(vendor, slashed);
    require(same.api == endpoint.api && same.vendor == endpoint.vendor && same.model == endpoint.model);
  }
}

void check_expression(std::string_view text) {
  const auto parsed = Expression::parse(text);
  if (!parsed) return require(!parsed.error().message.empty());
  Figures figures{};
  require(parsed->of(figures) == Amount());
  Amount last;
  // More of anything never costs less; the last step is more than any call uses.
  for (const std::int64_t more :
       {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40U, std::int64_t{1} << 62U}) {
    for (std::size_t figure = 0; figure < figures.size(); ++figure) {
      figures[figure] = more;
      const Amount cost = parsed->of(figures);
      require(cost.in_range() && cost >= last);
      require(cost == last || parsed->names(static_cast<Figure>(figure)));
      last = cost;
    }
  }
}

void check_left(std::string_view text) {
  for (const Vendor vendor : {Vendor::openai, Vendor::anthropic, Vendor::gemini}) {
    for (const int status : {200, 429}) {
      const VendorLeft left = read_vendor_left(vendor, status, [&](std::string_view) { return text; });
      for (const auto& one : {left.requests, left.tokens, left.input_tokens, left.output_tokens})
        require(!one || (*one >= 0 && *one <= Amount::max_millitokens / 1000));
      require(status != 429 || left.any());
    }
  }
}

std::string decimal(std::int64_t millionths) {
  std::string digits = std::to_string(millionths % 1'000'000);
  digits.insert(0, 6 - digits.size(), '0');
  return std::to_string(millionths / 1'000'000) + "." + digits;
}

void check_prices(std::string_view text) {
  const auto prices = gateway::read_prices(text, "prices.yaml");
  if (!prices) return require(prices.error().message.starts_with("prices.yaml"));
  auto models = base::JsonWriter::object();
  for (const auto& [model, price] : *prices) {
    auto figures = base::JsonWriter::object();
    const std::pair<const char*, std::int64_t> all[] = {{"input", price.input},
                                                        {"cached_input", price.cached_input},
                                                        {"cache_write", price.cache_write},
                                                        {"output", price.output},
                                                        {"reasoning", price.reasoning}};
    for (const auto& [name, millionths] : all) {
      require(parse_millionths(decimal(millionths)) == millionths);
      figures.raw(name, decimal(millionths));
    }
    models.raw(model, figures.str());
  }
  const auto again =
      gateway::read_prices(base::JsonWriter::object().raw("models", models.str()).str(), "again");
  require(again && *again == *prices);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_path(text);
  check_expression(text);
  check_left(text);
  check_prices(text);
  return 0;
}

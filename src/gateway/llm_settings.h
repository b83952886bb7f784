// The settings of a route to a language model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/mapping.h"
#include "llm/charge.h"
#include "llm/endpoint.h"
#include "weir/result.h"

namespace weir::gateway {

/// What happens to a request whose model the file does not know.
enum class Unknown : std::uint8_t { refuse, pass };

/// What happens to a call whose client has left before the answer ended.
enum class OnDisconnect : std::uint8_t {
  stop,    ///< the vendor is left, too; what was seen of the answer is charged
  finish,  ///< the answer is read to its end without the client, so that its usage is known
};

/// What happens to a stream whose output has outgrown its estimate, where no more is left.
enum class OnExhausted : std::uint8_t {
  debt,  ///< it goes on, and refill pays the debt
  end,   ///< it is ended, with the vendor's own mark of a cut answer
};

using Prices = std::map<std::string, llm::Price, std::less<>>;

struct LlmSettings {
  std::optional<llm::Vendor> vendor = {};  ///< nothing: by the path of each request
  /// The resource of each model. Empty: a model is its own resource.
  std::map<std::string, std::string, std::less<>> models = {};
  Unknown unknown_models = Unknown::refuse;  ///< pass: they are charged to the resource with the route's name
  Unknown unpriced = Unknown::refuse;        ///< pass: they cost no money
  OnDisconnect on_disconnect = OnDisconnect::stop;
  OnExhausted on_exhausted = OnExhausted::debt;
  llm::Charges charges = {};
  std::string prices_file = {};          ///< empty: none
  std::string upstream_key_source = {};  ///< env:NAME or file:PATH; empty: the client's key is passed on
  /// The entity whose bucket follows the vendor's own limits; empty: none.
  std::string upstream_entity = {};
  // What load_llm_files() reads.
  std::shared_ptr<const Prices> prices = {};
  std::string upstream_key = {};
  std::string upstream_bearer = {};  ///< the same as the value of Authorization; empty without a key
};

/// The fields of a route that are about language models, by their numbers in the file's tree; 0: not given.
struct LlmFields {
  std::uint32_t llm = 0;
  std::uint32_t models = 0;
  std::uint32_t charge = 0;
  std::uint32_t unknown_models = 0;
  std::uint32_t unpriced = 0;
  std::uint32_t prices = 0;
  std::uint32_t upstream_key = 0;
  std::uint32_t on_disconnect = 0;
  std::uint32_t on_exhausted = 0;
  std::uint32_t upstream_entity = 0;
};

/// Reports what is wrong as problems. Nothing if the route has no `llm`.
std::optional<LlmSettings> read_llm(config::MappingReader& in, const LlmFields& fields,
                                    const config::Subject& subject);

/// Reads a file of prices, in US dollars for a million tokens:
///
///     models:
///       gpt-4o: {input: 2.50, cached_input: 1.25, output: 10}
Result<Prices> read_prices(std::string_view text, std::string_view file);

/// Reads the key and the prices of a route. `environment`: the value of a variable; nothing if it is not set.
Result<void> load_llm_files(LlmSettings& settings,
                            const std::function<std::optional<std::string>(const std::string&)>& environment);

}  // namespace weir::gateway

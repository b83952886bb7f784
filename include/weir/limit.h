// A limit: the parameters of a token bucket, validated on construction.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/amount.h"
#include "weir/detail/export.h"
#include "weir/result.h"

namespace weir {

/// The long form of a limit. Only capacity is required.
struct LimitSpec {
  Amount capacity;                                  ///< what a new bucket holds; 0 blocks
  std::optional<Amount> burst = {};                 ///< the most a bucket can hold; default: capacity
  std::optional<Amount> refill_amount = {};         ///< what is added each period; default: capacity
  std::chrono::milliseconds refill_period{60'000};  ///< default: one minute
};

/// A checked limit. Immutable; copies are cheap.
class WEIR_API Limit {
 public:
  /// From the long form. Refuses what could not be computed exactly in every store.
  static Result<Limit> make(const LimitSpec& spec);
  /// From text: the short form `AMOUNT[/PERIOD][:BURST]` ("100", "100/min:150", "5/10s"), or the long
  /// form as JSON (`{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000}`).
  static Result<Limit> parse(std::string_view text);

  Amount capacity() const { return capacity_; }
  Amount burst() const { return burst_; }
  Amount refill_amount() const { return refill_amount_; }
  std::chrono::milliseconds refill_period() const { return refill_period_; }

  /// The long form as JSON.
  std::string to_json() const;
  friend bool operator==(const Limit&, const Limit&) = default;

 private:
  Limit() = default;

  Amount capacity_, burst_, refill_amount_;
  std::chrono::milliseconds refill_period_{};
};

/// A limit and its name: "rpm", 100 a minute.
struct NamedLimit {
  std::string name;
  Limit limit;
  friend bool operator==(const NamedLimit&, const NamedLimit&) = default;
};

/// A limit and its name as text: `{"rpm", "100/min"}`. Parsed and checked by the call that takes it.
struct LimitText {
  std::string_view name;
  std::string_view limit;
};

/// Reads and checks several limits; the error names the one that is wrong.
WEIR_API Result<std::vector<NamedLimit>> parse_limits(const std::vector<LimitText>& texts);

}  // namespace weir

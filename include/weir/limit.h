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

/// Whether a limit decides.
enum class Mode : unsigned char {
  enforce,  ///< refuses what it does not hold
  shadow,   ///< charged where it holds the amount; where it would refuse, it is left uncharged and reported
  off,      ///< neither checked nor charged; the bucket keeps its balance
};

/// "enforce", "shadow" or "off".
WEIR_API std::string_view to_text(Mode mode);
/// From the same words.
WEIR_API Result<Mode> parse_mode(std::string_view text);

/// What a limit counts.
enum class Kind : unsigned char {
  rate,        ///< a token bucket: what is taken is gone, and refills with time
  concurrent,  ///< what is taken is held until the lease ends or its deadline passes; nothing refills
};

/// "rate" or "concurrent".
WEIR_API std::string_view to_text(Kind kind);
/// From the same words.
WEIR_API Result<Kind> parse_kind(std::string_view text);

/// The long form of a limit. Only capacity is required. A concurrent limit has a capacity and a mode only.
struct LimitSpec {
  Amount capacity;                                  ///< what a new bucket holds; 0 blocks
  std::optional<Amount> burst = {};                 ///< the most a bucket can hold; default: capacity
  std::optional<Amount> refill_amount = {};         ///< what is added each period; default: capacity
  std::chrono::milliseconds refill_period{60'000};  ///< default: one minute
  Mode mode = Mode::enforce;
  Kind kind = Kind::rate;
};

/// A checked limit. Immutable; copies are cheap.
class WEIR_API Limit {
 public:
  /// From the long form. Refuses what could not be computed exactly in every store.
  static Result<Limit> make(const LimitSpec& spec);
  /// From text: the short form `AMOUNT[/PERIOD][:BURST][:MODE]` ("100", "100/min:150", "5/10s:shadow") or
  /// `AMOUNT:concurrent[:MODE]` ("10:concurrent"), or the long form as JSON
  /// (`{"capacity":100,"burst":150,"refill_amount":100,"refill_period_ms":60000,"mode":"shadow"}`,
  /// `{"capacity":10,"kind":"concurrent"}`).
  static Result<Limit> parse(std::string_view text);

  Amount capacity() const { return capacity_; }
  Amount burst() const { return burst_; }
  /// 0 for a concurrent limit, like the period.
  Amount refill_amount() const { return refill_amount_; }
  std::chrono::milliseconds refill_period() const { return refill_period_; }
  Kind kind() const { return kind_; }
  Mode mode() const { return mode_; }
  /// The same limit in another mode.
  Limit in_mode(Mode mode) const {
    Limit limit = *this;
    limit.mode_ = mode;
    return limit;
  }

  /// The long form as JSON; the mode only where it is not "enforce", the kind only where it is not "rate".
  std::string to_json() const;
  friend bool operator==(const Limit&, const Limit&) = default;

 private:
  Limit() = default;

  Amount capacity_, burst_, refill_amount_;
  std::chrono::milliseconds refill_period_{};
  Mode mode_ = Mode::enforce;
  Kind kind_ = Kind::rate;
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

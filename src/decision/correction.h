// A correction of the balances of one bucket, which counts as no consumption: an operator fills it or grants
// more, or a gateway lowers it to what the vendor says is left.
#pragma once

#include <optional>
#include <span>

#include "decision/chain.h"
#include "decision/marker.h"
#include "decision/next_state.h"
#include "weir/report.h"

namespace weir::decision {

struct Correction {
  enum class Verb : unsigned char {
    fill,   ///< every rate limit in force holds at least its capacity; none is lowered
    lower,  ///< the named rate limits hold at most the amounts less their grants, or 0; none is raised
    grant,  ///< the named rate limits have a grant of the amounts (bucket/grants.h)
  };
  Verb verb = Verb::fill;
  std::span<const Charge> amounts = {};  ///< of `lower` and `grant`; 0 or more
  Time lasts = 0;                        ///< of `grant`: how long; 0: until it is used
};

/// Whether a missing bucket must be created. Not for `fill`, since a new bucket is full.
inline bool creates(const Correction& correction) { return correction.verb != Correction::Verb::fill; }

/// Corrects a limit in force at a moment; returns whether it has changed. Concurrent limits are left alone:
/// what is held of them belongs to leases. Fails where the limit has too many grants.
Result<bool> apply(const Correction& correction, bucket::LimitState& limit, Time at);

/// Fails where the bucket does not have a rate limit that is named.
Result<void> check_names(const Correction& correction, const limits::LimitSet& set);

/// For how long a repeated correction with the same key is ignored.
inline constexpr Time correction_key_lasts = Time{24} * 60 * 60 * 1000;
/// The marker of a correction with a key.
Marker marker_of_correction(std::string_view entity, std::uint64_t generation, Time now);

struct CorrectionQuestion {
  const Correction& correction;
  std::string_view resource;
  Time now = 0;
  bool once = false;               ///< it has a key
  const Marker* marker = nullptr;  ///< that is stored under the key; null: none
};

struct CorrectionAnswer {
  std::optional<bucket::State> state = {};  ///< nothing: it stays as it is stored, or absent
  std::optional<Marker> marker = {};
  bool repeated = false;            ///< it happened before: the marker is that of an earlier copy
  limits::ResolutionRef made = {};  ///< of the link, if it was made here
};

/// `link` is the only one of its chain, and is claimed here. The report has the balances after the
/// correction.
Result<CorrectionAnswer> correct(Chain& chain, Link& link, std::optional<bucket::State> stored,
                                 const CorrectionQuestion& question, const NewGeneration& new_generation,
                                 LimitReport& report);

}  // namespace weir::decision

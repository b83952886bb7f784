// A row of the decision log: what was asked of a limiter, and what it answered.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/amount.h"
#include "weir/catalog.h"
#include "weir/clock.h"
#include "weir/limit.h"
#include "weir/report.h"

namespace weir::decision_log {

/// Which decisions are kept.
enum class Keeps : std::uint8_t {
  off,
  refusals,
  all,  ///< admitted acquires and changes of leases, too
};
inline constexpr std::array<std::string_view, 3> keeps_names = {"off", "refusals", "all"};

enum class EntryKind : std::uint8_t { acquire, adjust, settle, rollback, extend };
inline constexpr std::array<std::string_view, 5> kind_names = {"acquire", "adjust", "settle", "rollback",
                                                               "extend"};

enum class EntryOutcome : std::uint8_t { admitted, refused };
inline constexpr std::array<std::string_view, 2> outcome_names = {"admitted", "refused"};

/// A decision as it is made. The texts need to live only during the call that takes it.
struct Record {
  Time at = 0;
  EntryKind kind = EntryKind::acquire;
  EntryOutcome outcome = EntryOutcome::admitted;
  std::string_view name_space = {};
  std::string_view entity = {};
  std::string_view resource = {};
  std::string_view request_id = {};
  std::span<const Charge> charges = {};
  /// The cost of every limit that `charges` does not name; nothing: only those that it names are charged.
  std::optional<Amount> every = {};
  std::span<const NamedLimit> sent_limits = {};  ///< with the request
  const LimitReport* report = nullptr;
  std::optional<Time> wait = 0;  ///< nothing: no wait helps, or none can be promised
  bool never_fits = false;
  bool from_memory = false;
  bool keyed = false;          ///< an acquire with an idempotency key: it may be a repetition
  bool shadow = false;         ///< no limit refuses
  bool no_debt = false;        ///< an adjust that must not leave a debt
  Time lease_for = 0;          ///< of an acquire or an extend, ms
  std::uint64_t lease = 0;     ///< the same number in the rows of one lease; 0: not known
  std::string_view more = {};  ///< a JSON object with what later versions know; empty: nothing
};

/// A decision as it is read.
struct Entry {
  std::string id = {};
  std::uint64_t number = 0;  ///< of the log; the id ends with it
  Time at = 0;
  EntryKind kind = EntryKind::acquire;
  EntryOutcome outcome = EntryOutcome::admitted;
  std::string name_space = {};
  std::string entity = {};
  std::string resource = {};
  std::string request_id = {};
  std::vector<std::pair<std::string, Amount>> charges = {};
  std::optional<Amount> every = {};
  std::vector<NamedLimit> sent_limits = {};
  LimitReport report = {};
  std::optional<Time> wait = 0;
  bool never_fits = false;
  bool from_memory = false;
  bool keyed = false;
  bool shadow = false;
  bool no_debt = false;
  Time lease_for = 0;
  std::uint64_t lease = 0;
  std::string more = {};
};

/// The amounts that were asked for, each limit once: the charges, or where every limit was charged, those of
/// the report.
std::vector<std::pair<std::string, Amount>> asked_by(const Entry& entry);

/// Selects entries. Empty and missing members select all.
struct Filter {
  std::string name_space = "default";
  std::string entity = {};  ///< that was asked for
  std::string chain = {};   ///< an entity that was charged or checked: the one asked for, or one above it
  std::string resource = {};
  std::optional<EntryOutcome> outcome = {};
  Time from = 0;
  Time to = INT64_MAX;  ///< not included
};

}  // namespace weir::decision_log

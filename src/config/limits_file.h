// Parses the limits file into the desired state of a namespace. No I/O; the caller reads the file.
//
//   namespace: default
//   system: {on_unavailable: deny, bucket_ttl_refill_multiplier: 7, usage: on, limits: {rpm: 100/min}}
//   resources: {gpt-4: {usage: off, limits: {rpm: 10/min, tpm: {capacity: 40000, burst: 60000}}}}
//   plans: {pro: {limits: {rpm: 100/min}, resources: {gpt-4: {limits: {rpm: 20/min}}}}}
//   entities: {key-1: {parent: org, cascade: true, plan: pro, limits: {...}, resources: {gpt-4: {limits:
//   {...}}}}}
//
// docs/limits-file.md describes it for users, docs/limits-file.schema.json for editors.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/maxima.h"
#include "weir/catalog.h"
#include "weir/level.h"
#include "weir/limit.h"
#include "weir/result.h"

namespace weir::config {

/// The largest file, and the most nodes after the expansion of aliases (`*name`).
inline constexpr std::size_t max_file_bytes = maxima::limits_file;
inline constexpr std::size_t max_nodes = maxima::yaml_nodes;
/// The most mistakes that are listed; the rest is only counted.
inline constexpr std::size_t max_reported = 20;

/// The limits of the file at one level, sorted by name.
struct DesiredLimits {
  Level level;
  std::vector<NamedLimit> limits;
  bool inherit = false;
  std::optional<bool> usage = {};  ///< of a resource or of the system; nothing: not in the file
};

/// The fields of an entity in the file.
struct DesiredEntity {
  std::string id;
  std::string parent = {};  ///< empty: none
  bool cascade = false;
  std::string plan = {};  ///< empty: none
  /// Nothing: the file does not mention it, and the stored value stays.
  std::optional<std::string> name = {};
  std::optional<std::map<std::string, std::string>> metadata = {};
  /// False: the file only has limits for it, so that it need not be stored.
  bool declared = false;
};

/// The content of a limits file, checked.
struct Desired {
  std::optional<std::string> name_space = {};            ///< nothing: not in the file
  std::optional<OnUnavailable> on_unavailable = {};      ///< of the system's limits
  std::optional<int> bucket_ttl_refill_multiplier = {};  ///< of the system's limits
  std::vector<DesiredLimits> limits = {};                ///< in the order of the file, no level twice
  std::vector<LimitsPlan> plans = {};                    ///< in the order of the file, no name twice
  std::vector<DesiredEntity> entities = {};              ///< in the order of the file, no id twice
};

struct ReadOptions {
  /// The name of the file in messages.
  std::string file = "limits.yaml";
  /// Called from time to time with the number of bytes read and the total.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
};

/// Reads a limits file: YAML, and so JSON. The error has a line for each mistake, up to max_reported, in the
/// order of the file: `limits.yaml:12:7: unknown field "limts" of resource "gpt-4"; did you mean "limits"?`.
Result<Desired> read_limits_file(std::string_view text, const ReadOptions& options = {});

}  // namespace weir::config

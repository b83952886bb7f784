// Finds entries in the blocks of a decision log.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "decision_log/blocks.h"
#include "decision_log/entry.h"
#include "decision_log/row.h"
#include "weir/catalog.h"
#include "weir/result.h"

namespace weir::decision_log {

/// "4f2a9c1e-1842": the id of a log, which is that of its process, and the number of a decision in it.
struct DecisionId {
  std::string log;
  std::uint64_t number = 0;
};
Result<DecisionId> parse_id(std::string_view text);
std::string id_text(std::string_view log, std::uint64_t number);

/// What a caller who asks for a decision may be told if it is not there.
enum class Audience : std::uint8_t {
  whole_log,      ///< everything, such as other namespaces, times of the log, and logs of other processes
  one_namespace,  ///< nothing beyond its own namespace
};

/// Safe to use from any thread.
class DecisionReader {
 public:
  /// The blocks must outlive it. `path`: of the file; empty: the log is in memory.
  DecisionReader(const Blocks& blocks, std::string log_id, std::string path)
      : blocks_(blocks), log_id_(std::move(log_id)), path_(std::move(path)) {}

  /// A decision of this namespace. not_found says why it is not here, and where to ask.
  Result<Entry> find(std::string_view id, std::string_view name_space,
                     Audience audience = Audience::whole_log) const;
  /// Newest first. A page may have fewer entries than asked for; only the last one has no `next`.
  Result<Page<Entry>> list(const Filter& filter, const Paging& paging) const;
  /// Calls `visit` with each row, oldest first, until it returns false.
  Result<void> for_each(const std::function<bool(const RowHead&)>& visit) const;

 private:
  Error not_here(const DecisionId& id) const;
  Error not_kept(const DecisionId& id) const;
  static Error hidden(const DecisionId& id, std::string_view name_space);

  const Blocks& blocks_;
  const std::string log_id_;
  const std::string path_;
};

}  // namespace weir::decision_log

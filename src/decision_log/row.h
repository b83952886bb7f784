// Entries as bytes. docs/format/decision-log.md draws them.
//
// Numbers are variable in length, texts have their length in front, and so has a row: an unknown end of a row
// is skipped, so that a later version may add to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decision_log/entry.h"

namespace weir::decision_log {

/// Appends a row.
void append_row(std::string& out, std::uint64_t number, const Record& record);

/// The parts of a row that a search looks at. The texts point into the row.
struct RowHead {
  std::uint64_t number = 0;
  Time at = 0;
  EntryKind kind = EntryKind::acquire;
  EntryOutcome outcome = EntryOutcome::admitted;
  std::string_view name_space = {};
  std::string_view entity = {};
  std::string_view resource = {};
  std::uint64_t lease = 0;
  std::string_view rest = {};  ///< for read_entry()
};

/// Takes the next row from the front of `rows`. Nothing at the end, and where the bytes are no row: then
/// `rows` is not empty.
std::optional<RowHead> take_row(std::string_view& rows);

/// The whole row, without its id. Nothing where the bytes are no row. `with_report`: false leaves out the
/// report, which is most of the work.
std::optional<Entry> read_entry(const RowHead& head, bool with_report = true);

}  // namespace weir::decision_log

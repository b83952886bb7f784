#include "decision_log/reader.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/hex.h"
#include "base/maxima.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "decision_log/file_blocks.h"

namespace weir::decision_log {
namespace {

using base::join;

constexpr std::size_t log_id_size = 8;
/// Rows that one page looks at, so that a rare match does not hold a thread for long.
constexpr std::size_t most_rows_of_page = 500'000;
/// Files of a folder that are looked at for another log.
constexpr std::size_t most_neighbours = 256;

/// The place of a row: that of its block, and its index there.
struct Cursor {
  std::int64_t position = INT64_MAX;
  std::size_t index = SIZE_MAX;  ///< rows of the block from here on were returned already
};

std::string cursor_text(const Cursor& cursor) {
  return join(std::to_string(cursor.position), ".", std::to_string(cursor.index));
}

Result<Cursor> parse_cursor(std::string_view text) {
  if (text.empty()) return Cursor{};
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto position = base::parse_digits(text.substr(0, dot));
  const auto index = base::parse_digits(text.substr(std::min(dot + 1, text.size())));
  if (!position || !index) return base::invalid("the cursor is not one of this listing");
  return Cursor{*position, static_cast<std::size_t>(*index)};
}

bool fits(const RowHead& head, const Filter& filter) {
  return head.name_space == filter.name_space && head.at >= filter.from && head.at < filter.to &&
         (filter.entity.empty() || head.entity == filter.entity) &&
         (filter.resource.empty() || head.resource == filter.resource) &&
         (!filter.outcome || head.outcome == *filter.outcome);
}

bool in_chain(const Entry& entry, const std::string& entity) {
  if (entity.empty() || entry.entity == entity) return true;
  return std::any_of(entry.report.begin(), entry.report.end(),
                     [&](const LimitStatus& status) { return status.entity == entity; });
}

/// The file beside `path` that has the log with this id.
struct Neighbour {
  std::string path;
  std::string place;
};
std::optional<Neighbour> find_neighbour(const std::string& path, const std::string& log) {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::absolute(path, failure).parent_path();
  std::size_t looked = 0;
  for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    if (++looked > most_neighbours) break;
    const std::string name = at->path().filename().string();
    // Other files, and those that SQLite keeps beside a file.
    const bool usual = name.ends_with("-decisions") || name.ends_with(".db");
    if (!usual || !at->is_regular_file(failure)) continue;
    const auto other = FileBlocks::open_to_read(at->path().string());
    if (other && (*other)->id() == log) return Neighbour{at->path().string(), (*other)->place()};
  }
  return std::nullopt;
}

/// The rows of a block, in their order. Rows after damaged bytes are lost.
std::vector<RowHead> rows_of(const Block& block) {
  std::vector<RowHead> heads;
  for (std::string_view rows = block.rows; auto head = take_row(rows);) heads.push_back(*head);
  return heads;
}

}  // namespace

Result<DecisionId> parse_id(std::string_view text) {
  const bool long_enough = text.size() > log_id_size + 1 && text[log_id_size] == '-';
  const std::int64_t number =
      base::parse_digits(long_enough ? text.substr(log_id_size + 1) : std::string_view()).value_or(0);
  const std::string_view log = text.substr(0, log_id_size);
  const bool hex = std::all_of(log.begin(), log.end(),
                               [](char c) { return base::hex_digits.find(c) != std::string_view::npos; });
  if (number == 0 || !hex) {
    return base::invalid(base::quoted(text),
                         " is not the id of a decision; a refusal has it in the header Weir-Decision and in "
                         "its body, such as 4f2a9c1e-1842");
  }
  return DecisionId{std::string(log), static_cast<std::uint64_t>(number)};
}

std::string id_text(std::string_view log, std::uint64_t number) {
  return join(log, "-", std::to_string(number));
}

Error DecisionReader::not_here(const DecisionId& id) const {
  const std::string text = id_text(id.log, id.number);
  const std::string where = join("decision ", text, " was made by the process with the decision log ", id.log,
                                 ", and this log is ", log_id_, "; ");
  if (const auto found = path_.empty() ? std::nullopt : find_neighbour(path_, id.log)) {
    if (found->place.empty()) return base::error(ErrorCode::not_found, where, "its file is ", found->path);
    return base::error(ErrorCode::not_found, where, "ask ", found->place, ", or read its file ", found->path);
  }
  return base::error(ErrorCode::not_found, where, "ask the process that has logged decision_log=", id.log,
                     " when it started");
}

/// The same for the decision of another process, of another namespace, and for one that does not exist.
Error DecisionReader::hidden(const DecisionId& id, std::string_view name_space) {
  return base::error(ErrorCode::not_found, "there is no decision ", id_text(id.log, id.number),
                     " of namespace ", name_space,
                     " here: another process made it, or it was not kept, or no longer; ask the process that "
                     "answered");
}

Error DecisionReader::not_kept(const DecisionId& id) const {
  std::optional<RowHead> oldest;
  std::string rows;  // that the head points into
  (void)blocks_.scan({}, Order::oldest_first, [&](const Block& block) {
    rows = block.rows;
    std::string_view left = rows;
    oldest = take_row(left);
    return !oldest;
  });
  const std::string text = id_text(id.log, id.number);
  if (!oldest)
    return base::error(ErrorCode::not_found, "there is no decision ", text, " here: the log is empty");
  return base::error(ErrorCode::not_found, "there is no decision ", text, " here; the log begins at ",
                     base::rfc3339_text(oldest->at), " with ", id_text(log_id_, oldest->number),
                     ", and under load decisions may be left out (weir_decision_log_dropped_total)");
}

Result<Entry> DecisionReader::find(std::string_view text, std::string_view name_space,
                                   Audience audience) const {
  const auto id = parse_id(text);
  if (!id) return id.error();
  const bool bound = audience == Audience::one_namespace;
  if (id->log != log_id_) return bound ? hidden(*id, name_space) : not_here(*id);
  std::optional<Entry> found;
  std::string other;  // the namespace of a decision that is one of another
  auto scanned = blocks_.scan({.from_number = id->number, .to_number = id->number}, Order::newest_first,
                              [&](const Block& block) {
                                for (std::string_view rows = block.rows; auto head = take_row(rows);) {
                                  if (head->number != id->number) continue;
                                  if (head->name_space == name_space) found = read_entry(*head);
                                  if (found) break;
                                  other = head->name_space;
                                }
                                return !found;
                              });
  if (!scanned) return scanned.error();
  if (!found && bound) return hidden(*id, name_space);
  if (!found && !other.empty()) {
    return base::error(ErrorCode::not_found, "decision ", text, " is one of namespace ", other, ", not of ",
                       name_space, "; say --namespace ", other, ", over HTTP Weir-Namespace: ", other);
  }
  if (!found) return not_kept(*id);
  found->id = id_text(log_id_, found->number);
  return *std::move(found);
}

Result<Page<Entry>> DecisionReader::list(const Filter& filter, const Paging& paging) const {
  if (paging.limit < 1 || paging.limit > maxima::page)
    return base::invalid("a page has 1 to ", std::to_string(maxima::page), " items");
  if (filter.from >= filter.to) return base::invalid("from must be before to");
  const auto cursor = parse_cursor(paging.cursor);
  if (!cursor) return cursor.error();
  Page<Entry> page;
  std::size_t looked = 0;
  auto scanned = blocks_.scan({.to_position = cursor->position, .from = filter.from, .to = filter.to - 1},
                              Order::newest_first, [&](const Block& block) {
                                const std::vector<RowHead> rows = rows_of(block);
                                const std::size_t end = block.position == cursor->position
                                                            ? std::min(cursor->index, rows.size())
                                                            : rows.size();
                                for (std::size_t at = end; at > 0; --at) {
                                  if (page.items.size() == paging.limit || looked == most_rows_of_page) {
                                    page.next = cursor_text({block.position, at});
                                    return false;
                                  }
                                  ++looked;
                                  if (!fits(rows[at - 1], filter)) continue;
                                  auto entry = read_entry(rows[at - 1]);
                                  if (!entry || !in_chain(*entry, filter.chain)) continue;
                                  entry->id = id_text(log_id_, entry->number);
                                  page.items.push_back(*std::move(entry));
                                }
                                return true;
                              });
  if (!scanned) return scanned.error();
  return page;
}

Result<void> DecisionReader::for_each(const std::function<bool(const RowHead&)>& visit) const {
  return blocks_.scan({}, Order::oldest_first, [&](const Block& block) {
    for (std::string_view rows = block.rows; auto head = take_row(rows);) {
      if (!visit(*head)) return false;
    }
    return true;
  });
}

}  // namespace weir::decision_log

#include "decision_log/file_blocks.h"

#include <algorithm>

#include "base/file.h"
#include "base/hex.h"
#include "base/maxima.h"
#include "base/text.h"
#include "store/sqlite/database.h"
#include "store/sqlite/file_lock.h"

namespace weir::decision_log {
namespace {

using base::join;

constexpr std::int64_t format = 1;
// "weir" in ASCII, so that file(1) can tell it from other SQLite files.
constexpr const char* application = "PRAGMA application_id = 0x77656972";
constexpr std::int64_t page_size = 4096;

// The index has everything that selects blocks, so that a search does not read the rows of the others.
constexpr const char* schema = R"(
  CREATE TABLE about (id TEXT NOT NULL, place TEXT NOT NULL) STRICT;
  CREATE TABLE blocks (
    position INTEGER PRIMARY KEY, lowest INTEGER NOT NULL, highest INTEGER NOT NULL,
    earliest INTEGER NOT NULL, latest INTEGER NOT NULL, rows BLOB NOT NULL) STRICT;
  CREATE INDEX ranges ON blocks (latest, earliest, lowest, highest);
  PRAGMA user_version = 1;
)";

std::string random_id(base::Entropy& entropy) {
  std::array<std::byte, 4> bytes{};
  entropy.fill(bytes);
  return base::hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// Whether the file is a decision log of this format.
Result<void> check_format(sqlite::Database& database) {
  const auto found = database.number("PRAGMA user_version");
  if (!found) return found.error();
  const auto tables = database.number(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('about', 'blocks')");
  if (!tables) return tables.error();
  if (*tables != 2)
    return base::invalid(database.path(), ": is not a decision log; name the file that weir serve writes");
  if (*found != format)
    return base::invalid(database.path(), ": has the format ", std::to_string(*found),
                         " and this weir reads ", std::to_string(format),
                         "; use a weir of the version that wrote it");
  return {};
}

}  // namespace

FileBlocks::FileBlocks(std::string path, std::uint64_t most_bytes)
    : path_(std::move(path)), most_bytes_(most_bytes) {}

FileBlocks::~FileBlocks() = default;

Result<std::unique_ptr<FileBlocks>> FileBlocks::open(const std::string& path, std::uint64_t most_bytes,
                                                     base::Entropy& entropy) {
  std::unique_ptr<FileBlocks> blocks(new FileBlocks(path, most_bytes));
  auto lock = sqlite::FileLock::acquire(path, std::chrono::milliseconds(0));
  if (!lock && lock.error().code == ErrorCode::conflict) {
    return base::error(ErrorCode::conflict, path, ": is the decision log of ",
                       sqlite::holder_of(path).value_or("another process"),
                       "; name another file with --decision-log, since each process has its own");
  }
  if (!lock) return lock.error();
  blocks->lock_ = std::make_unique<sqlite::FileLock>(*std::move(lock));
  auto database = sqlite::Database::open(path, sqlite::Access::write);
  if (!database) return database.error();
  blocks->writer_ = *std::move(database);
  if (auto prepared = blocks->prepare(entropy); !prepared) return prepared.error();
  return blocks;
}

Result<std::unique_ptr<FileBlocks>> FileBlocks::open_to_read(const std::string& path) {
  if (const std::string why = base::why_unreadable(path); !why.empty())
    return base::invalid(path, ": ", why, "; name the file of a decision log");
  std::unique_ptr<FileBlocks> blocks(new FileBlocks(path, 0));
  auto database = sqlite::Database::open(path, sqlite::Access::read);
  if (!database) return database.error();
  if (auto checked = check_format(**database); !checked) return checked.error();
  if (auto read = blocks->read_about(**database); !read) return read.error();
  return blocks;
}

Result<void> FileBlocks::prepare(base::Entropy& entropy) {
  const auto tables = writer_->number("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.error();
  if (*tables == 0) {
    sqlite::Transaction transaction(*writer_);
    if (auto begun = transaction.begin(); !begun) return begun;
    if (auto made = writer_->execute(schema); !made) return made;
    if (auto made = writer_->execute(application); !made) return made;
    sqlite::Statement about(*writer_, "INSERT INTO about VALUES (?1, '')");
    const std::string id = random_id(entropy);
    if (auto written = about.begin().bind(id).run(); !written) return written;
    if (auto committed = transaction.commit(); !committed) return committed;
  }
  if (auto checked = check_format(*writer_); !checked) return checked;
  // A crash of the machine may lose the last seconds, and damages nothing.
  const std::int64_t log_pages =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(most_bytes_) / 16 / page_size, 8, 1000);
  const std::string settings = join(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ",
      std::to_string(log_pages), "; PRAGMA journal_size_limit = ", std::to_string(log_pages * page_size));
  if (auto set = writer_->execute(settings.c_str()); !set) return set;
  if (auto shrunk = shrink(); !shrunk) return shrunk;
  return read_about(*writer_);
}

/// A file that was written under a larger bound gives its space back, which deleting alone does not do.
Result<void> FileBlocks::shrink() {
  const auto pages = writer_->number("PRAGMA page_count");
  if (!pages) return pages.error();
  // A file that has kept this bound has at most three quarters of it.
  if (static_cast<std::uint64_t>(*pages * page_size) <= most_bytes_ / 8 * 7) return {};
  if (auto made = make_room(0); !made) return made;
  // While there is no space for the copy that is made, the file stays as large as it is.
  if (auto copied = writer_->execute("VACUUM"); !copied) return {};
  return writer_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<void> FileBlocks::read_about(sqlite::Database& database) {
  sqlite::Statement about(database,
                          "SELECT id, place, (SELECT max(position) FROM blocks), "
                          "(SELECT max(highest) FROM blocks) FROM about");
  auto row = about.begin().step();
  if (!row) return row.error();
  if (!*row) return base::invalid(database.path(), ": is not a complete decision log; move it away");
  id_ = about.text(0);
  place_ = about.text(1);
  last_position_ = about.integer(2);
  last_number_ = static_cast<std::uint64_t>(about.integer(3));
  return {};
}

Result<void> FileBlocks::set_place(const std::string& place) {
  const base::Guard guard(mutex_);
  place_ = place;
  sqlite::Statement about(*writer_, "UPDATE about SET place = ?1");
  return about.begin().bind(place).run();
}

Result<void> FileBlocks::write(std::span<const Block> blocks, Time oldest) {
  const base::Guard guard(mutex_);
  sqlite::Statement expire(*writer_, "DELETE FROM blocks WHERE latest < ?1");
  if (auto expired = expire.begin().bind(oldest).run(); !expired) return expired;
  // In parts, which the write-ahead log has to hold beside the file.
  const std::uint64_t most = most_bytes_ / 16;
  while (!blocks.empty()) {
    std::size_t count = 1;
    std::uint64_t bytes = blocks[0].rows.size();
    while (count < blocks.size() && bytes + blocks[count].rows.size() <= most)
      bytes += blocks[count++].rows.size();
    if (auto written = write_some(blocks.first(count)); !written) return written;
    blocks = blocks.subspan(count);
  }
  return {};
}

Result<void> FileBlocks::write_some(std::span<const Block> blocks) {
  sqlite::Transaction transaction(*writer_);
  if (auto begun = transaction.begin(); !begun) return begun;
  std::uint64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.rows.size() + 2 * page_size;
  if (auto made = make_room(bytes); !made) return made;
  sqlite::Statement insert(*writer_, "INSERT OR REPLACE INTO blocks VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  for (const Block& block : blocks) {
    insert.begin()
        .bind(block.position)
        .bind(static_cast<std::int64_t>(block.lowest))
        .bind(static_cast<std::int64_t>(block.highest))
        .bind(block.earliest)
        .bind(block.latest)
        .bind_blob(std::as_bytes(std::span(block.rows)));
    if (auto written = insert.run(); !written) return written;
  }
  return transaction.commit();
}

/// Deletes the oldest blocks until so much fits. The freed pages are used again, so that the file does not
/// grow.
Result<void> FileBlocks::make_room(std::uint64_t bytes) {
  const std::uint64_t most = most_bytes_ / 4 * 3;
  sqlite::Statement drop(
      *writer_,
      "DELETE FROM blocks WHERE position IN "
      "(SELECT position FROM blocks ORDER BY position LIMIT 1 + (SELECT count(*) / 64 FROM blocks))");
  for (;;) {
    const auto in_use = used();
    if (!in_use) return in_use.error();
    if (*in_use + bytes <= most) return {};
    if (auto dropped = drop.begin().run(); !dropped) return dropped;
    if (writer_->changed_rows() == 0) return {};
  }
}

Result<std::uint64_t> FileBlocks::used() const {
  const auto pages = writer_->number("PRAGMA page_count");
  if (!pages) return pages.error();
  const auto free = writer_->number("PRAGMA freelist_count");
  if (!free) return free.error();
  return static_cast<std::uint64_t>((*pages - *free) * page_size);
}

Result<void> FileBlocks::scan(const BlockRange& range, Order order,
                              const std::function<bool(const Block&)>& visit) const {
  auto database = sqlite::Database::open(path_, sqlite::Access::read);
  if (!database) return database.error();
  const std::string sql = join(
      "SELECT position, lowest, highest, earliest, latest, rows FROM blocks WHERE position IN ("
      "SELECT position FROM blocks INDEXED BY ranges WHERE latest >= ?1 AND earliest <= ?2 AND highest >= ?3 "
      "AND lowest <= ?4 AND position >= ?5 AND position <= ?6) ORDER BY position ",
      order == Order::oldest_first ? "ASC" : "DESC");
  sqlite::Statement select(**database, sql.c_str());
  select.begin()
      .bind(range.from)
      .bind(range.to)
      .bind(static_cast<std::int64_t>(range.from_number))
      .bind(static_cast<std::int64_t>(range.to_number))
      .bind(range.from_position)
      .bind(range.to_position);
  Block block;
  for (;;) {
    auto row = select.step();
    if (!row) return row.error();
    if (!*row) return {};
    block.position = select.integer(0);
    block.lowest = static_cast<std::uint64_t>(select.integer(1));
    block.highest = static_cast<std::uint64_t>(select.integer(2));
    block.earliest = select.integer(3);
    block.latest = select.integer(4);
    block.rows = select.text(5).substr(0, maxima::decision_block);
    if (!visit(block)) return {};
  }
}

std::uint64_t FileBlocks::bytes() const {
  const base::Guard guard(mutex_);
  if (!writer_) return 0;
  const auto in_use = used();
  return in_use ? *in_use : 0;
}

}  // namespace weir::decision_log

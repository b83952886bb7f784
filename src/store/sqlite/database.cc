#include "store/sqlite/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "store/sqlite/private_file.h"

namespace weir::sqlite {
namespace {

// Only a user of the sqlite3 shell can lock the file; a service must not wait for that for long.
constexpr int busy_timeout_ms = 5000;

std::string advice(int code, const std::string& path) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full, or the file may not grow; make room, and weir goes on by itself";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "the file cannot be written; check the permissions of the file and of its folder";
    case SQLITE_CANTOPEN:
      return "the file cannot be opened; check that the folder exists and can be written";
    case SQLITE_NOTADB:
      return "this is not a SQLite file; name another file, or move this one away";
    case SQLITE_CORRUPT:
      return base::join(
          "the file is damaged; nothing was changed. Put a backup in its place, or see what "
          "`sqlite3 ",
          path, " .recover` can save");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds the file for too long; close it (a sqlite3 shell with an open "
             "transaction?)";
    case SQLITE_IOERR:
      return "the disk reports an error; check the disk and the system's log";
    default:
      return "please report this";
  }
}

/// The path with the links to its folder resolved, so that SQLite can be told to follow none. The last name
/// stays as it is.
std::string without_folder_links(const std::string& path) {
  const std::filesystem::path whole(path);
  std::error_code failure;
  const auto folder =
      std::filesystem::canonical(whole.has_parent_path() ? whole.parent_path() : ".", failure);
  return failure ? path : (folder / whole.filename()).string();
}

/// Creates a missing file for its owner alone. SQLite gives the files beside it the same permissions. Other
/// errors are left to SQLite.
void create(const std::string& path) {
  // An existing file is not opened: closing it would release the locks of SQLite in this process.
  if (const int made = open_private(path, O_EXCL); made >= 0) ::close(made);
}

}  // namespace

Error Database::error(int code) const {
  const int extended = handle_ != nullptr ? sqlite3_extended_errcode(handle_) : code;
  const int what = (extended & 0xff) == (code & 0xff) ? extended : code;
  return base::error(ErrorCode::unavailable, path_, ": ", advice(what, path_),
                     " (SQLite says: ", handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code),
                     ", code ", std::to_string(what), ")");
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Access access) {
  if (auto checked = check_no_link(path); !checked) return checked.error();
  if (access == Access::write) create(path);
  // SQLite would open it read-only and fail later with a misleading error.
  if (access == Access::write && ::access(path.c_str(), F_OK) == 0 &&
      ::access(path.c_str(), R_OK | W_OK) != 0)
    return base::error(ErrorCode::unavailable, path, ": ", advice(SQLITE_READONLY, path));
  sqlite3* handle = nullptr;
  const int flags =
      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW |
      (access == Access::write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  const int code = sqlite3_open_v2(without_folder_links(path).c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(path, handle));
  if (code != SQLITE_OK) return database->error(code);
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

Result<void> Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code);
  return {};
}

std::int64_t Database::changed_rows() const { return sqlite3_changes64(handle_); }

Result<std::int64_t> Database::number(const char* sql) {
  Statement statement(*this, sql);
  auto row = statement.begin().step();
  if (!row) return row.error();
  return *row ? statement.integer(0) : 0;
}

Result<Database::Checkpoint> Database::checkpoint() {
  int pages = 0;
  int copied = 0;
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
  // Busy: another checkpoint is running, or a reader blocks this one. The next one copies the rest.
  if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY) return error(code);
  return Checkpoint{pages, pages - copied};
}

void Database::on_commit(void (*hook)(void* context, int pages), void* context) {
  hook_ = hook;
  context_ = context;
  sqlite3_wal_hook(
      handle_,
      [](void* self, sqlite3*, const char*, int pages) {
        const auto* const database = static_cast<const Database*>(self);
        database->hook_(database->context_, pages);
        return SQLITE_OK;
      },
      this);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::begin() {
  if (statement_ == nullptr) {
    failure_ =
        sqlite3_prepare_v3(database_.handle(), sql_, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  } else {
    sqlite3_reset(statement_);
    failure_ = SQLITE_OK;
  }
  bound_ = 0;
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  if (failure_ == SQLITE_OK) failure_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // A null pointer would become NULL.
  const char* const data = text.data() != nullptr ? text.data() : "";
  if (failure_ == SQLITE_OK)
    failure_ = sqlite3_bind_text64(statement_, ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(std::span<const std::byte> bytes) {
  if (failure_ == SQLITE_OK)
    failure_ = sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::bind_null() {
  if (failure_ == SQLITE_OK) failure_ = sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> Statement::step() {
  if (failure_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
      reset();
      return false;
    }
    failure_ = code;
  }
  Error error = database_.error(failure_);
  reset();
  return error;
}

Result<void> Statement::run() {
  for (;;) {
    auto row = step();
    if (!row) return row.error();
    if (!*row) return {};
  }
}

void Statement::reset() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Statement::text(int column) const {
  // Read as a blob: the raw bytes, for texts and for blobs.
  const void* const data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Transaction::~Transaction() {
  // After some failures SQLite has rolled back already; then this has no effect.
  if (open_) static_cast<void>(database_.execute("ROLLBACK"));
}

Result<void> Transaction::begin() {
  auto begun = database_.execute("BEGIN IMMEDIATE");
  open_ = begun.ok();
  return begun;
}

Result<void> Transaction::commit() {
  auto committed = database_.execute("COMMIT");
  if (committed) open_ = false;
  return committed;
}

}  // namespace weir::sqlite

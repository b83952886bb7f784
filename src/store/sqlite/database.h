// A thin, typed wrapper of SQLite: connections, statements, and errors that name a remedy.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weir::sqlite {

class Database;

/// A prepared statement. Bound texts must stay valid until the next reset. Belongs to its database, which
/// must outlive it; not safe for concurrent use.
class Statement {
 public:
  Statement(Database& database, const char* sql) : database_(database), sql_(sql) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Starts anew: parameters are numbered from 1.
  Statement& begin();
  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view text);
  Statement& bind_blob(std::span<const std::byte> bytes);
  Statement& bind_null();
  /// Binds NULL for an empty text.
  Statement& bind_or_null(std::string_view text) { return text.empty() ? bind_null() : bind(text); }

  /// True: there is a row. False: the statement is done and was reset.
  Result<bool> step();
  /// Runs to the end.
  Result<void> run();
  void reset();

  std::int64_t integer(int column) const;
  /// Valid until the next step.
  std::string_view text(int column) const;
  bool is_null(int column) const;

 private:
  Database& database_;
  const char* sql_;
  sqlite3_stmt* statement_ = nullptr;  // prepared when it is first used
  int bound_ = 0;
  int failure_ = 0;
};

enum class Access { read, write };

/// One connection. Not safe for concurrent use: its owner guards it.
class Database {
 public:
  /// `write` creates a missing file.
  static Result<std::unique_ptr<Database>> open(const std::string& path, Access access);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Runs several statements that return no rows.
  Result<void> execute(const char* sql);
  /// The first number of the first row, 0 if there is none.
  Result<std::int64_t> number(const char* sql);

  /// How many rows the last statement has written.
  std::int64_t changed_rows() const;

  /// Copies pages from the write-ahead log into the file, without blocking readers or writers. Returns how
  /// many pages the log holds, and how many of them were not copied.
  struct Checkpoint {
    int pages = 0;
    int left = 0;
  };
  Result<Checkpoint> checkpoint();
  /// Calls `hook(context, pages)` after each commit, with the size of the write-ahead log.
  void on_commit(void (*hook)(void* context, int pages), void* context);

  /// The last error of SQLite.
  Error error(int code) const;
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  sqlite3* handle_;
  void (*hook_)(void* context, int pages) = nullptr;
  void* context_ = nullptr;
};

/// Rolls back unless it was committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Result<void> begin();
  Result<void> commit();

 private:
  Database& database_;
  bool open_ = false;
};

}  // namespace weir::sqlite

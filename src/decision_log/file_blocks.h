// Blocks in a SQLite file, which other programs can read while it is written.
#pragma once

#include <memory>
#include <string>

#include "base/entropy.h"
#include "base/lock.h"
#include "decision_log/blocks.h"

namespace weir::sqlite {
class Database;
class FileLock;
}  // namespace weir::sqlite

namespace weir::decision_log {

/// The file, the log beside it and its index in memory together stay below the bound, unless a reader holds
/// the file for long.
class FileBlocks final : public Blocks {
 public:
  /// Opens the file for writing, or creates it, with an id from `entropy`. One process at a time can have it.
  static Result<std::unique_ptr<FileBlocks>> open(const std::string& path, std::uint64_t most_bytes,
                                                  base::Entropy& entropy);
  /// Opens an existing file for reading.
  static Result<std::unique_ptr<FileBlocks>> open_to_read(const std::string& path);

  ~FileBlocks() override;
  FileBlocks(const FileBlocks&) = delete;
  FileBlocks& operator=(const FileBlocks&) = delete;

  /// Of the file, for as long as it exists: 8 hex digits.
  const std::string& id() const { return id_; }
  /// How the process that wrote the file last can be reached; empty: not known.
  const std::string& place() const { return place_; }
  /// Stores how this process can be reached.
  Result<void> set_place(const std::string& place);
  /// Of the last block; 0: none.
  std::int64_t last_position() const { return last_position_; }
  /// The largest number of a row; 0: none.
  std::uint64_t last_number() const { return last_number_; }

  Result<void> write(std::span<const Block> blocks, Time oldest) override;
  Result<void> scan(const BlockRange& range, Order order,
                    const std::function<bool(const Block&)>& visit) const override;
  std::uint64_t bytes() const override;

 private:
  FileBlocks(std::string path, std::uint64_t most_bytes);
  Result<void> read_about(sqlite::Database& database);
  Result<void> prepare(base::Entropy& entropy);
  Result<void> shrink();
  Result<void> write_some(std::span<const Block> blocks);
  Result<void> make_room(std::uint64_t bytes);
  Result<std::uint64_t> used() const;

  const std::string path_;
  const std::uint64_t most_bytes_;
  std::string id_;
  std::string place_;
  std::int64_t last_position_ = 0;
  std::uint64_t last_number_ = 0;
  std::unique_ptr<sqlite::FileLock> lock_;
  mutable base::Mutex mutex_;
  std::unique_ptr<sqlite::Database> writer_;  ///< used with the mutex; null: opened to read
};

}  // namespace weir::decision_log

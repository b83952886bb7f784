#include "crash/disk.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <vector>

namespace weir::crash {
namespace {

constexpr std::int64_t sector = 512;

/// A file of ours: SQLite's view of it, and behind it in memory the real one.
struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  static File* of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
};

/// One change that has not been synced.
struct Change {
  std::uint64_t number = 0;
  std::int64_t offset = 0;
  std::string bytes;   // empty: the file was cut to `offset`
  std::string before;  // what was there
  std::int64_t size_before = 0;
};

/// When to fail.
struct Fault {
  int code = SQLITE_OK;
  std::uint64_t from = 0;  // calls until then
  std::uint64_t times = 0;
  bool strikes() {
    if (code == SQLITE_OK || times == 0) return false;
    if (from > 1) {
      --from;
      return false;
    }
    if (times != Disk::forever) --times;
    return true;
  }
};

struct State {
  std::mutex mutex;
  sqlite3_vfs* real = nullptr;
  DiskCounts counts;
  Fault writes;
  Fault syncs;
  bool failed = false;
  bool remembering = false;
  std::uint64_t power_until = 0;
  std::uint64_t seed = 0;
  std::map<sqlite3_file*, std::vector<Change>> unsynced;  // by real file
  // Two connections have the same file open, so a sync of one is a sync of all: changes are kept under the
  // first.
  std::map<std::string, sqlite3_file*> first;
  std::map<sqlite3_file*, std::string> names;
};

State& state() {
  static State state;
  return state;
}

std::vector<Change>& changes_of(sqlite3_file* real) {
  State& disk = state();
  const auto name = disk.names.find(real);
  return disk.unsynced[name == disk.names.end() ? real : disk.first[name->second]];
}

std::string read_at(sqlite3_file* real, std::int64_t offset, std::int64_t size) {
  std::string bytes(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)), '\0');
  real->pMethods->xRead(real, bytes.data(), static_cast<int>(bytes.size()), offset);
  return bytes;
}

std::int64_t size_of(sqlite3_file* real) {
  sqlite3_int64 size = 0;
  real->pMethods->xFileSize(real, &size);
  return size;
}

void remember(sqlite3_file* real, std::int64_t offset, const void* bytes, std::int64_t size) {
  Change change;
  change.number = state().counts.writes;
  change.offset = offset;
  change.size_before = size_of(real);
  if (bytes != nullptr) {
    change.bytes.assign(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
    change.before = read_at(real, offset, std::min(size, change.size_before - offset));
  } else {
    change.before = read_at(real, offset, change.size_before - offset);
  }
  changes_of(real).push_back(std::move(change));
}

void write_at(sqlite3_file* real, std::int64_t offset, const std::string& bytes) {
  real->pMethods->xWrite(real, bytes.data(), static_cast<int>(bytes.size()), offset);
}

void undo(sqlite3_file* real, const Change& change) {
  if (!change.before.empty()) write_at(real, change.offset, change.before);
  real->pMethods->xTruncate(real, change.size_before);
}

void redo(sqlite3_file* real, const Change& change) {
  if (change.bytes.empty()) {
    real->pMethods->xTruncate(real, change.offset);
  } else {
    write_at(real, change.offset, change.bytes);
  }
}

/// Some sectors of a write reach the disk, in whatever order.
void redo_torn(sqlite3_file* real, const Change& change, std::mt19937_64& random) {
  for (std::int64_t at = change.offset; at < change.offset + std::ssize(change.bytes);) {
    const std::int64_t end = std::min((at / sector + 1) * sector, change.offset + std::ssize(change.bytes));
    if (random() % 2 == 0)
      write_at(real, at,
               change.bytes.substr(static_cast<std::size_t>(at - change.offset),
                                   static_cast<std::size_t>(end - at)));
    at = end;
  }
}

[[noreturn]] void power_is_gone() {
  State& disk = state();
  std::mt19937_64 random(disk.seed);
  const auto mood = random() % 4;  // all lost, all kept, a prefix, anything
  for (auto& [real, changes] : disk.unsynced) {
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) undo(real, *change);
    const std::size_t prefix = changes.empty() ? 0 : random() % (changes.size() + 1);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (mood == 0 || (mood == 2 && i > prefix)) break;
      const auto fate = mood == 3 ? random() % 3 : std::uint64_t{0};
      if (fate == 2 || (mood == 2 && i == prefix)) {
        redo_torn(real, changes[i], random);
      } else if (fate == 0) {
        redo(real, changes[i]);
      }
    }
  }
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// Requires the mutex.
void one_step_nearer_to_the_end() {
  State& disk = state();
  if (disk.power_until != 0 && --disk.power_until == 0) power_is_gone();
}

/// SQLITE_OK, or the fault that strikes. Requires the mutex.
int struck_by(Fault& fault) {
  if (!fault.strikes()) return SQLITE_OK;
  state().failed = true;
  return fault.code;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  State& disk = state();
  const std::scoped_lock lock(disk.mutex);
  sqlite3_file* const real = File::of(file)->real();
  ++disk.counts.writes;
  if (const int failure = struck_by(disk.writes); failure != SQLITE_OK) return failure;
  if (disk.remembering) remember(real, offset, bytes, size);
  const int code = real->pMethods->xWrite(real, bytes, size, offset);
  one_step_nearer_to_the_end();
  return code;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  State& disk = state();
  const std::scoped_lock lock(disk.mutex);
  sqlite3_file* const real = File::of(file)->real();
  ++disk.counts.writes;
  if (const int failure = struck_by(disk.writes); failure != SQLITE_OK) return failure;
  if (disk.remembering) remember(real, size, nullptr, 0);
  const int code = real->pMethods->xTruncate(real, size);
  one_step_nearer_to_the_end();
  return code;
}

int sync(sqlite3_file* file, int flags) {
  State& disk = state();
  sqlite3_file* const real = File::of(file)->real();
  std::uint64_t covered = 0;
  {
    const std::scoped_lock lock(disk.mutex);
    ++disk.counts.syncs;
    if (const int failure = struck_by(disk.syncs); failure != SQLITE_OK) return failure;
    one_step_nearer_to_the_end();
    covered = disk.counts.writes;
  }
  // Power losses are played, so a real sync would only take time.
  const int code = disk.remembering ? SQLITE_OK : real->pMethods->xSync(real, flags);
  const std::scoped_lock lock(disk.mutex);
  if (code == SQLITE_OK) {
    std::erase_if(changes_of(real), [&](const Change& change) { return change.number <= covered; });
    one_step_nearer_to_the_end();
  }
  return code;
}

int close(sqlite3_file* file) {
  State& disk = state();
  sqlite3_file* const real = File::of(file)->real();
  const std::scoped_lock lock(disk.mutex);
  disk.unsynced.erase(real);
  if (const auto name = disk.names.find(real); name != disk.names.end()) {
    if (disk.first[name->second] == real) disk.first.erase(name->second);
    disk.names.erase(name);
  }
  return real->pMethods->xClose(real);
}

// The rest goes straight to the real file.
template <auto Method, class... Args>
int pass(sqlite3_file* file, Args... args) {
  sqlite3_file* const real = File::of(file)->real();
  return (real->pMethods->*Method)(real, args...);
}
void shm_barrier(sqlite3_file* file) {
  sqlite3_file* const real = File::of(file)->real();
  real->pMethods->xShmBarrier(real);
}

const sqlite3_io_methods& methods() {
  using M = sqlite3_io_methods;
  static const sqlite3_io_methods methods = {
      .iVersion = 2,
      .xClose = close,
      .xRead = pass<&M::xRead, void*, int, sqlite3_int64>,
      .xWrite = write,
      .xTruncate = truncate,
      .xSync = sync,
      .xFileSize = pass<&M::xFileSize, sqlite3_int64*>,
      .xLock = pass<&M::xLock, int>,
      .xUnlock = pass<&M::xUnlock, int>,
      .xCheckReservedLock = pass<&M::xCheckReservedLock, int*>,
      .xFileControl = pass<&M::xFileControl, int, void*>,
      .xSectorSize = pass<&M::xSectorSize>,
      .xDeviceCharacteristics = pass<&M::xDeviceCharacteristics>,
      .xShmMap = pass<&M::xShmMap, int, int, int, void volatile**>,
      .xShmLock = pass<&M::xShmLock, int, int, int>,
      .xShmBarrier = shm_barrier,
      .xShmUnmap = pass<&M::xShmUnmap, int>,
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
  return methods;
}

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  State& disk = state();
  sqlite3_file* const real = File::of(file)->real();
  file->pMethods = nullptr;
  const int code = disk.real->xOpen(disk.real, name, real, flags, out_flags);
  if (code != SQLITE_OK) return code;
  file->pMethods = &methods();
  if (name == nullptr) return code;
  const std::scoped_lock lock(disk.mutex);
  disk.names[real] = name;
  disk.first.emplace(name, real);
  return code;
}

}  // namespace

void Disk::install() {
  static sqlite3_vfs disk;
  State& now = state();
  if (now.real != nullptr) return;
  now.real = sqlite3_vfs_find(nullptr);
  disk = *now.real;
  disk.zName = "weir-test-disk";
  disk.szOsFile = static_cast<int>(sizeof(File)) + now.real->szOsFile;
  disk.xOpen = open;
  sqlite3_vfs_register(&disk, 1);
}

DiskCounts Disk::counts() {
  const std::scoped_lock lock(state().mutex);
  return state().counts;
}

void Disk::fail_writes(int code, std::uint64_t from, std::uint64_t times) {
  const std::scoped_lock lock(state().mutex);
  state().writes = {code, from, times};
}

void Disk::fail_syncs(int code, std::uint64_t from, std::uint64_t times) {
  const std::scoped_lock lock(state().mutex);
  state().syncs = {code, from, times};
}

bool Disk::has_failed() {
  const std::scoped_lock lock(state().mutex);
  return state().failed;
}

void Disk::heal() {
  const std::scoped_lock lock(state().mutex);
  state().writes = {};
  state().syncs = {};
  state().failed = false;
}

void Disk::lose_power(std::uint64_t at, std::uint64_t seed) {
  const std::scoped_lock lock(state().mutex);
  state().remembering = true;
  state().power_until = at;
  state().seed = seed;
}

}  // namespace weir::crash

// What the workers were told, kept outside of them: what the file must hold after each crash.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crash/worker.h"

namespace weir::crash {

/// By limit, in tokens: rpm, tpm, credits.
using Sums = std::array<std::int64_t, 3>;
Sums operator+(const Sums& a, const Sums& b);
Sums operator-(const Sums& a, const Sums& b);
std::string to_string(const Sums& sums);

/// A charge that was acknowledged.
struct LeaseEntry {
  std::string entity;
  std::string id;   ///< "-": changed by its object only
  std::string key;  ///< of the acquire; "-": none
  Sums asked{};
  Sums net{};
  std::string ended;                                          ///< "settle" or "rollback", acknowledged
  Sums settled{};                                             ///< as it was settled
  std::vector<std::pair<std::string, std::int64_t>> adjusts;  ///< acknowledged: key and credits
};

/// A step that was begun and has not been answered.
struct Pending {
  char kind = 0;  ///< as in worker.h
  std::string entity;
  Sums change{};  ///< what it does to the entity's bucket
  std::uint64_t lease = 0;
  std::string verb;
  Sums amounts{};
  std::string key;
  std::uint64_t index = 0;
};

/// What a place in the catalog was last told to be: the step that wrote it, or nothing.
struct BucketKey {
  std::optional<std::uint64_t> written;
  bool gone = false;  ///< deleted with its buckets
};

class Ledger {
 public:
  /// Takes one line of a worker.
  void read(const std::string& line);
  /// A pending charge stays unknown until it is found out.
  void worker_died();

  /// Whether the bucket of the entity can have been charged so much: everything that was acknowledged, and of
  /// what is unknown any part.
  bool explains(const std::string& entity, const Sums& consumed) const;
  /// Takes over what the file says; nothing about the entity is unknown any more.
  void conclude(const std::string& entity, const Sums& consumed);
  /// Acquires with a key and changes by id of unknown outcome, which are not unknown any more: the caller
  /// repeats them.
  std::vector<Pending> take_repeatable();
  /// An acquire with a key is acknowledged by its charge alone.
  void acknowledge(const Pending& step);

  std::size_t unknown_count() const { return unknown_.size(); }
  /// Whether the lease has a change of unknown outcome.
  bool is_unknown(std::uint64_t lease) const;

  Sums acknowledged(const std::string& entity) const;
  /// The least that the entity was charged, as far as its callers know: what was perhaps given back was.
  Sums least_charged(const std::string& entity) const;
  /// Those that nothing unknown has happened to.
  const std::map<std::uint64_t, LeaseEntry>& leases() const { return leases_; }
  /// Forgets leases and sums, for the next population.
  void start_over();

  /// Whether the place can hold what step `written` wrote, or nothing.
  bool limits_may_be(std::uint64_t index, std::optional<std::uint64_t> written) const {
    return may_be(limits_[index], 'L', 'K', index, written);
  }
  /// The same of the shared key's limits.
  bool shared_limits_may_be(std::optional<std::uint64_t> written) const {
    return may_be(limits_[shared_place], 'M', '\0', shared_place, written);
  }
  bool entity_may_be(std::uint64_t index, std::optional<std::uint64_t> written) const {
    return may_be(entities_[index], 'E', 'X', index, written);
  }
  /// Takes over what the file says.
  void conclude_catalog(std::uint64_t index, std::optional<std::uint64_t> limits,
                        std::optional<std::uint64_t> entity);
  bool entity_is_gone(std::uint64_t index) const;
  /// Whether everything that a population needs was acknowledged, by one worker.
  bool prepared() const { return was_prepared_; }

  std::uint64_t next_step() const { return last_step_ + 1; }
  std::uint64_t answers() const { return answers_; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  static constexpr int preparations = 2 * (4 + callers) + 1;

  bool may_be(const BucketKey& place, char write, char erase, std::uint64_t index,
              std::optional<std::uint64_t> written) const;
  void begin(char kind, std::uint64_t step, std::string_view rest);
  void begin_change(Pending& pending, std::string_view rest);
  void done(std::uint64_t step, const Pending& pending, bool gone);

  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, Pending> unknown_;
  std::map<std::uint64_t, LeaseEntry> leases_;
  std::map<std::string, Sums> sums_;     // acknowledged, and decided since
  std::map<std::string, Sums> charged_;  // acknowledged only
  std::array<BucketKey, catalog_size + 1> limits_{};
  std::array<BucketKey, catalog_size + 1> entities_{};
  int prepared_ = 0;
  bool was_prepared_ = false;
  std::uint64_t last_step_ = 0;
  std::uint64_t answers_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace weir::crash

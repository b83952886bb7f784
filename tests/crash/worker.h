// The process that is killed: it uses a file from several threads and says what it is about to do, and what
// it was told, on a pipe that outlives it.
//
//     A 17 own-3-0 500 2 -     thread asks for 1 rpm, 500 tpm and 2 credits, with a key at the end or none;
//     17 is
//                              the number of the step
//     a 17 LEASE-ID            admitted ("-": no id was asked for)
//     n 17                     refused
//     C 18 17 settle 300 4 -   is about to change lease 17 by its id (D: by the object), here to 300 tpm and
//                              4 credits; an adjust adds that many credits, under the key at the end
//     L 19 2 / K 19 2          sets, deletes the limits of resource "catalog-2"; what is set follows from 19
//     M 22 5                   sets the limits of the shared key, whose bucket is charged meanwhile
//     E 20 3 / X 20 3          puts, deletes entity "person-3"
//     d 18                     done
//     g 20                     done, and there was such an entity: it is gone with its buckets
//     s 0                      a step of the preparations is done
//     ! 18 TEXT                failed, which it should not
#pragma once

#include <cstdint>
#include <string>

#include "weir/weir.h"

namespace weir::crash {

/// What a worker is told on its command line.
struct Task {
  std::string path;
  int population = 0;  ///< which entities it uses
  std::uint64_t seed = 0;
  std::uint64_t first_step = 0;     ///< steps are numbered across workers
  std::uint64_t power_lost_at = 0;  ///< the number of the write or sync; 0: never
  int pipe = -1;
};

/// Time stands still, so nothing refills and every sum is exact.
constexpr Time standing_time = 1'700'000'000'000;
constexpr int callers = 4;
constexpr int catalog_size = 5;
constexpr const char* resource = "model";
constexpr const char* limit_names[] = {"rpm", "tpm", "credits"};

/// The entities of a population: callers use their own key and a shared one. Keys have a team, teams an
/// organisation; charges fall on all of them.
struct Names {
  int population = 0;
  std::string organisation() const { return "org-" + std::to_string(population); }
  std::string small_team() const { return "small-" + std::to_string(population); }
  std::string large_team() const { return "large-" + std::to_string(population); }
  std::string own_key(int caller) const { return key("own-", caller); }
  std::string shared_key() const { return key("shared-", 0); }

 private:
  std::string key(const char* kind, int caller) const {
    return kind + std::to_string(population) + "-" + std::to_string(caller);
  }
};

/// What each holds, in tokens: own keys and the small team run dry during the test.
struct Capacity {
  std::int64_t rpm;
  std::int64_t tpm;
  std::int64_t credits = 1'000'000'000;
};
constexpr Capacity of_own_key{60, 20'000};
constexpr Capacity of_small_team{200, 60'000};
constexpr Capacity of_the_rest{1'000'000, 1'000'000'000};

std::string catalog_resource(std::uint64_t index);
std::string catalog_entity(std::uint64_t index);
/// What step `step` writes.
std::string catalog_limit(std::uint64_t step);
Entity catalog_content(std::uint64_t index, std::uint64_t step);
/// The limits of the shared key: every version has the same capacities, and bursts of at least that. So a
/// change of them changes no balance while time stands still. The burst of rpm says which step wrote them.
std::vector<NamedLimit> shared_limits(std::uint64_t step);
/// Where the ledger keeps them, behind the catalog's.
constexpr std::uint64_t shared_place = catalog_size;

/// Runs until the process is killed.
int work(const Task& task);

}  // namespace weir::crash

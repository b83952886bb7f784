#include "crash/ledger.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace weir::crash {

Sums operator+(const Sums& a, const Sums& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Sums operator-(const Sums& a, const Sums& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
std::string to_string(const Sums& sums) {
  return std::to_string(sums[0]) + "/" + std::to_string(sums[1]) + "/" + std::to_string(sums[2]);
}

namespace {

template <class Map>
Sums sum_of(const Map& sums, const std::string& entity) {
  const auto found = sums.find(entity);
  return found == sums.end() ? Sums{} : found->second;
}

}  // namespace

void Ledger::read(const std::string& line) {
  std::istringstream words(line);
  char kind = 0;
  std::uint64_t step = 0;
  words >> kind >> step;
  std::string rest;
  std::getline(words >> std::ws, rest);
  last_step_ = std::max(last_step_, step);
  if (kind >= 'A' && kind <= 'Z') return begin(kind, step, rest);
  ++answers_;
  if (kind == 's') {
    ++prepared_;
    return;
  }
  if (kind == '!') failures_.push_back(line);
  const auto pending = pending_.find(step);
  if (pending == pending_.end()) return;
  if (kind == 'a') {
    const Pending& acquire = pending->second;
    leases_[step] = {.entity = acquire.entity,
                     .id = rest,
                     .key = acquire.key,
                     .asked = acquire.change,
                     .net = acquire.change};
    sums_[acquire.entity] = sum_of(sums_, acquire.entity) + acquire.change;
    charged_[acquire.entity] = sum_of(charged_, acquire.entity) + acquire.change;
  }
  if (kind == 'd' || kind == 'g') done(step, pending->second, kind == 'g');
  pending_.erase(pending);
}

void Ledger::begin(char kind, std::uint64_t step, std::string_view rest) {
  Pending& pending = pending_[step];
  pending.kind = kind;
  if (kind == 'C' || kind == 'D') return begin_change(pending, rest);
  std::istringstream words{std::string(rest)};
  if (kind == 'A') {
    pending.change[0] = 1;
    words >> pending.entity >> pending.change[1] >> pending.change[2] >> pending.key;
  } else {
    words >> pending.index;
  }
}

void Ledger::begin_change(Pending& pending, std::string_view rest) {
  std::istringstream words{std::string(rest)};
  words >> pending.lease >> pending.verb >> pending.amounts[1] >> pending.amounts[2] >> pending.key;
  const LeaseEntry& lease = leases_[pending.lease];
  pending.entity = lease.entity;
  if (pending.verb == "adjust") {
    pending.change[2] = pending.amounts[2];
  } else if (pending.verb == "rollback") {
    pending.change = Sums{} - lease.net;
  } else {
    pending.change = Sums{0, pending.amounts[1], pending.amounts[2]} - Sums{0, lease.net[1], lease.net[2]};
  }
}

void Ledger::done(std::uint64_t step, const Pending& pending, bool gone) {
  switch (pending.kind) {
    case 'L':
    case 'M':
      limits_[pending.index].written = step;
      return;
    case 'K':
      limits_[pending.index].written.reset();
      return;
    case 'E':
      entities_[pending.index] = {step, false};
      return;
    case 'X':
      entities_[pending.index] = {std::nullopt, gone};
      return;
    default:
      acknowledge(pending);
  }
}

void Ledger::acknowledge(const Pending& change) {
  sums_[change.entity] = sum_of(sums_, change.entity) + change.change;
  charged_[change.entity] = sum_of(charged_, change.entity) + change.change;
  if (change.kind == 'A') return;
  LeaseEntry& lease = leases_[change.lease];
  lease.net = lease.net + change.change;
  if (change.verb == "adjust") {
    lease.adjusts.emplace_back(change.key, change.amounts[2]);
  } else {
    lease.ended = change.verb;
    lease.settled = change.amounts;
  }
}

void Ledger::worker_died() {
  unknown_.merge(pending_);
  pending_.clear();
  was_prepared_ = was_prepared_ || prepared_ >= preparations;
  prepared_ = 0;
}

bool Ledger::explains(const std::string& entity, const Sums& consumed) const {
  std::set<Sums> possible{sum_of(sums_, entity)};
  for (const auto& [step, pending] : unknown_) {
    if (pending.entity != entity) continue;
    std::set<Sums> with;
    for (const Sums& sums : possible) with.insert(sums + pending.change);
    possible.merge(with);
  }
  return possible.contains(consumed);
}

void Ledger::conclude(const std::string& entity, const Sums& consumed) {
  sums_[entity] = consumed;
  charged_[entity] = least_charged(entity);
  std::erase_if(unknown_, [&](const auto& item) {
    if (item.second.entity != entity) return false;
    leases_.erase(item.second.lease);
    return true;
  });
}

std::vector<Pending> Ledger::take_repeatable() {
  std::vector<Pending> changes;
  std::erase_if(unknown_, [&](const auto& item) {
    const Pending& step = item.second;
    const bool taken = step.kind == 'C' || (step.kind == 'A' && step.key != "-");
    if (taken) changes.push_back(item.second);
    return taken;
  });
  return changes;
}

bool Ledger::is_unknown(std::uint64_t lease) const {
  return std::any_of(unknown_.begin(), unknown_.end(),
                     [&](const auto& item) { return item.second.lease == lease; });
}

Sums Ledger::acknowledged(const std::string& entity) const { return sum_of(charged_, entity); }

Sums Ledger::least_charged(const std::string& entity) const {
  Sums least = sum_of(charged_, entity);
  for (const auto& [step, pending] : unknown_) {
    if (pending.entity != entity) continue;
    for (std::size_t i = 0; i < least.size(); ++i) least[i] += std::min<std::int64_t>(pending.change[i], 0);
  }
  return least;
}

void Ledger::start_over() {
  leases_.clear();
  sums_.clear();
  charged_.clear();
  unknown_.clear();
  limits_[shared_place] = {};
  was_prepared_ = false;
}

bool Ledger::may_be(const BucketKey& place, char write, char erase, std::uint64_t index,
                    std::optional<std::uint64_t> written) const {
  if (place.written == written) return true;
  for (const auto& [step, pending] : unknown_) {
    if (!pending.entity.empty() || pending.index != index) continue;
    if (written ? pending.kind == write && step == *written : pending.kind == erase) return true;
  }
  return false;
}

void Ledger::conclude_catalog(std::uint64_t index, std::optional<std::uint64_t> limits,
                              std::optional<std::uint64_t> entity) {
  limits_[index].written = limits;
  if (entities_[index].written != entity || !entity_is_gone(index)) entities_[index] = {entity, false};
  std::erase_if(unknown_,
                [&](const auto& item) { return item.second.entity.empty() && item.second.index == index; });
}

bool Ledger::entity_is_gone(std::uint64_t index) const {
  for (const auto& [step, pending] : unknown_) {
    if (pending.index == index && (pending.kind == 'E' || pending.kind == 'X')) return false;
  }
  return entities_[index].gone;
}

}  // namespace weir::crash

#include "sync/world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::sync {
namespace {

constexpr Time window_length = 10'000;

Error gone() { return {ErrorCode::unavailable, "the exchange does not answer"}; }

}  // namespace

Result<std::optional<Exchange::Object>> FaultyExchange::read(std::string_view region) {
  if (chance(fails)) return gone();
  const auto& all = published(region);
  if (all.empty() || !chance(late)) return MemoryExchange::read(region);
  return std::optional(all[all.size() - 1 - random_() % std::min<std::size_t>(all.size(), 5)]);
}

Result<std::string> FaultyExchange::publish(std::string_view region, const std::string& bytes,
                                            std::string_view expected) {
  if (chance(fails)) return gone();
  auto tag = MemoryExchange::publish(region, bytes, expected);
  if (chance(fails)) return gone();  // it was published, and the answer is lost
  return tag;
}

void WholeBucket::refill(Time by) {
  tokens_ =
      std::min(limit_.burst().millitokens() * scale(), tokens_ + limit_.refill_amount().millitokens() * by);
}

void WholeBucket::take(Millitokens amount) {
  tokens_ -= amount * scale();
  least_ = std::min(least_, tokens_);
}

Millitokens Shifting::operator()(int window, std::size_t region, std::size_t entity) const {
  std::mt19937_64 random(seed ^ static_cast<std::uint64_t>(window / 7) * 1'000'003 ^ region * 7919 ^
                         entity * 104'729);
  random.discard(3);
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return 30'000;
    case 2:
      return 280'000;  // the whole
    default:
      return window % 7 == 0 ? 1'680'000 : 0;
  }
}

World::World(const WorldPlan& plan) : plan_(plan), random_(plan.seed), exchange_(plan.seed + 1) {
  exchange_.fails = plan.fails;
  exchange_.late = plan.late;
  Simulation::Options options;
  const auto random_phase = [&] {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(plan.steps));
  };
  for (std::size_t i = 0; i < plan.regions; ++i) {
    options.regions.push_back(std::string("region-") + char('a' + i));
    options.clock_errors.push_back(
        static_cast<Time>(random_() % static_cast<std::uint64_t>(plan.spread + 1)) - plan.spread / 2);
    processes_.push_back({.region = i, .phase = random_phase()});
  }
  for (std::size_t i = 0; i < plan.entities; ++i) options.entities.push_back("entity-" + std::to_string(i));
  // Divisible by every number of regions up to 8.
  options.limits = {{"rpm", *Limit::parse("1680/min")}, {"tpm", *Limit::parse("168000/min:252000")}};
  options.floor = plan.floor;
  options.clock_spread = plan.spread;
  if (plan.delays > 0) options.delay = [this](std::size_t) { delay(); };
  limits_ = options.limits;
  entities_ = options.entities;
  auto made = Simulation::make(std::move(options), exchange_);
  simulation_ = *std::move(made);
  for (std::size_t e = 0; e < plan.entities; ++e) wholes_.emplace_back(limits_[0].limit);
  for (std::size_t i = 0; plan.two_each && i < plan.regions; ++i) {
    processes_.push_back({.region = i, .phase = random_phase(), .further = simulation_->another_process(i)});
  }
  conflicts_.resize(processes_.size());
  completed_.resize(processes_.size());
}

void World::run(int windows, Demand demand) {
  demand_ = std::move(demand);
  for (int i = 0; i < windows * plan_.steps; ++i) step();
}

void World::step() {
  const Time length = window_length / plan_.steps;
  const int window = steps_done_ / plan_.steps;
  const int phase = steps_done_ % plan_.steps;
  ++steps_done_;
  simulation_->advance(length);
  for (WholeBucket& whole : wholes_) whole.refill(length);
  for (Process& process : processes_) {
    if (process.phase == phase && !process.in_cycle) cycle(process);
  }
  for (std::size_t region = 0; region < plan_.regions; ++region) {
    for (std::size_t e = 0; e < plan_.entities; ++e)
      take(region, e, demand_(window, region, e) / plan_.steps);
  }
  check();
}

void World::check() {
  for (const std::string& entity : entities_) {
    for (const NamedLimit& limit : limits_) {
      Millitokens sum = 0;
      for (std::size_t region = 0; region < plan_.regions; ++region)
        sum += simulation_->in_force(region, entity, limit.name).capacity().millitokens();
      most_ = std::max(most_,
                       static_cast<double>(sum) / static_cast<double>(limit.limit.capacity().millitokens()));
    }
  }
}

/// The process that reads its clock stands still, up to four windows, while everything else goes on.
void World::delay() {
  constexpr int deepest = 2;
  if (depth_ == deepest || std::uniform_real_distribution<>()(random_) >= plan_.delays) return;
  ++depth_;
  ++delayed_;
  for (auto left = 1 + random_() % static_cast<std::uint64_t>(4 * plan_.steps); left > 0; --left) step();
  --depth_;
}

double World::excess() const {
  Millitokens most = 0;
  for (const WholeBucket& whole : wholes_) most = std::max(most, whole.excess());
  return static_cast<double>(most);
}

double World::share(std::size_t region, std::size_t entity) {
  const Limit in_force = simulation_->in_force(region, entities_[entity], "rpm");
  return static_cast<double>(in_force.capacity().millitokens()) / 1'680'000;
}

double World::target(std::size_t region) {
  for (const auto& status : simulation_->runner(region).region().status()) {
    if (status.entity == entities_[0] && status.limit == "rpm")
      return static_cast<double>(status.target) / 1'680'000;
  }
  return -1;
}

void World::stop_or_start(Process& process) {
  const std::size_t region = process.region;
  if (process.further) {
    process.further = simulation_->another_process(region);
  } else {
    simulation_->runs(region) ? simulation_->stop(region) : simulation_->start(region);
  }
  ++stopped_;
}

void World::cycle(Process& process) {
  if (plan_.stops > 0 && std::uniform_real_distribution<>()(random_) < plan_.stops) stop_or_start(process);
  if (!process.further && !simulation_->runs(process.region)) return;
  process.in_cycle = true;
  const auto report = process.further ? process.further->cycle() : simulation_->cycle(process.region);
  process.in_cycle = false;
  count(static_cast<std::size_t>(&process - processes_.data()), report);
}

void World::count(std::size_t process, const Result<CycleReport>& report) {
  ++cycles_;
  if (!report) {
    ++failed_cycles_;
    conflicts_[process] += report.error().code == ErrorCode::conflict ? 1U : 0U;
    return;
  }
  ++completed_[process];
  failed_writes_ += report->failed;
  entries_ += report->entries;
  written_ += report->written;
  for (const auto& [reason, times] : report->reasons) reasons_[reason] += times;
  if (const auto renewed = report->reasons.find(Reason::expires); renewed != report->reasons.end())
    renewed_ += renewed->second;
}

void World::take(std::size_t region, std::size_t entity, Millitokens amount) {
  if (amount > 0) wholes_[entity].take(simulation_->take(region, entities_[entity], amount));
}

}  // namespace weir::sync

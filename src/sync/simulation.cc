#include "sync/simulation.h"

#include <algorithm>

namespace weir::sync {
namespace {

/// A clock whose reader may be delayed after it has read the time.
class DelayedClock final : public Clock {
 public:
  DelayedClock(const Clock& clock, std::function<void()> delay) : clock_(clock), delay_(std::move(delay)) {}
  Time now() const override {
    const Time read = clock_.now();
    if (delay_) delay_();
    return read;
  }

 private:
  const Clock& clock_;
  const std::function<void()> delay_;
};

}  // namespace

Result<std::optional<Exchange::Object>> MemoryExchange::read(std::string_view region) {
  const auto found = objects_.find(std::string(region));
  if (found == objects_.end() || found->second.empty()) return std::optional<Object>();
  return std::optional(found->second.back());
}

Result<std::string> MemoryExchange::publish(std::string_view region, const std::string& bytes,
                                            std::string_view expected) {
  std::vector<Object>& all = objects_[std::string(region)];
  if ((all.empty() ? std::string() : all.back().tag) != expected)
    return Error{ErrorCode::conflict, "another process publishes for the region"};
  // Enough for readers that are several windows late.
  constexpr std::size_t most_kept = 16;
  const std::string tag = std::to_string(all.empty() ? 1 : std::stoll(all.back().tag) + 1);
  if (all.size() == most_kept) all.erase(all.begin());
  all.push_back({bytes, tag});
  return tag;
}

Result<std::unique_ptr<Simulation>> Simulation::make(Options options, Exchange& exchange) {
  std::unique_ptr<Simulation> simulation(new Simulation(std::move(options), exchange));
  simulation->places_.resize(simulation->options_.regions.size());
  for (std::size_t region = 0; region < simulation->places_.size(); ++region) {
    if (auto opened = simulation->open(region); !opened) return opened.error();
    simulation->start(region);
  }
  return simulation;
}

Result<void> Simulation::open(std::size_t region) {
  Place& place = places_[region];
  const Time error = region < options_.clock_errors.size() ? options_.clock_errors[region] : 0;
  place.clock = std::make_unique<FakeClock>(now_ + error);
  std::function<void()> delay;
  if (options_.delay) delay = [this, region] { options_.delay(region); };
  place.delayed_clock = std::make_unique<DelayedClock>(*place.clock, std::move(delay));
  auto limiter = Limiter::open("memory:", {.clock = place.clock.get()});
  if (!limiter) return limiter.error();
  place.limiter = std::make_unique<Limiter>(*std::move(limiter));
  std::vector<NamedLimit> below = options_.limits;
  for (NamedLimit& limit : below) {
    if (options_.floor != Floor::share) continue;
    const Millitokens part = limit.limit.capacity().millitokens() / static_cast<Millitokens>(places_.size());
    auto fair = limit_of_share(limit.limit, part);
    if (!fair) return fair.error();
    limit.limit = *std::move(fair);
  }
  auto set = place.limiter->set_limits(Level::system(), below);
  if (!set) return set.error();
  return {};
}

void Simulation::start(std::size_t region) { places_[region].runner = another_process(region); }

std::unique_ptr<Runner> Simulation::another_process(std::size_t region) {
  Settings settings{.region = options_.regions[region],
                    .regions = options_.regions,
                    .window = options_.window,
                    .clock_spread = options_.clock_spread,
                    .floor = options_.floor,
                    .least = options_.least};
  return std::make_unique<Runner>(
      *places_[region].limiter, exchange_, std::move(settings),
      std::vector<Scope>{{.resource = options_.resource, .entities = options_.entities}},
      *places_[region].delayed_clock, Runner::Options{.threads = 1});
}

void Simulation::stop(std::size_t region) { places_[region].runner.reset(); }

void Simulation::advance(Time by) {
  now_ += by;
  for (Place& place : places_) place.clock->advance(std::chrono::milliseconds(by));
}

Millitokens Simulation::take(std::size_t region, const std::string& entity, Millitokens amount) {
  std::vector<Charge> charges;
  for (const NamedLimit& limit : options_.limits) charges.push_back({limit.name, Amount::milli(amount)});
  auto decision = places_[region].limiter->acquire(entity, options_.resource, charges);
  if (!decision) return 0;
  if (decision->admitted()) return amount;
  Millitokens left = amount;
  for (const LimitStatus limit : decision->limits()) left = std::min(left, limit.remaining.millitokens());
  if (left <= 0) return 0;
  for (Charge& charge : charges) charge.amount = Amount::milli(left);
  decision = places_[region].limiter->acquire(entity, options_.resource, charges);
  return decision && decision->admitted() ? left : 0;
}

Limit Simulation::in_force(std::size_t region, const std::string& entity, const std::string& limit) {
  auto effective = places_[region].limiter->effective_limits(entity, options_.resource);
  return std::find_if(effective->limits.begin(), effective->limits.end(),
                      [&](const NamedLimit& one) { return one.name == limit; })
      ->limit;
}

}  // namespace weir::sync

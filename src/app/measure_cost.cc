#include "app/measure_cost.h"

#include <functional>

#include "app/url.h"
#include "base/text.h"
#include "limiter/core.h"

namespace weir::app {
namespace {

// On-demand prices in us-east-1, as of November 2024; most regions cost a little more.
constexpr double dollars_per_million_reads = 0.125;
constexpr double dollars_per_million_writes = 0.625;
constexpr int rounds = 20;

std::vector<NamedLimit> limits_of(int count) {
  std::vector<NamedLimit> limits;
  for (int i = 0; i < count; ++i)
    limits.push_back({base::join("l", std::to_string(10 + i)), *Limit::parse("100000/min")});
  return limits;
}

class Bench {
 public:
  Bench(std::shared_ptr<dynamodb::DynamoStore> store, const Options& options)
      : store_(std::move(store)),
        core_({std::make_shared<SystemClock>(), std::make_shared<base::SystemEntropy>(), store_}, options) {}

  Result<std::vector<CostLine>> run() {
    auto measured = measure_all();
    // Deletes the limits and buckets of the entity too.
    for (const std::string& entity : entities_) {
      if (auto gone = core_.delete_entity(entity); !gone && measured) measured = gone.error();
    }
    if (auto gone = core_.delete_limits(Level::system()); !gone && measured) measured = gone.error();
    if (!measured) return measured.error();
    return std::move(lines_);
  }

 private:
  Result<void> prepare() {
    const std::string mark = std::to_string(base::SystemEntropy().next() % 1'000'000);
    for (const char* const name : {"one-", "ten-", "below-", "above-", "empty-"})
      entities_.push_back(name + mark);
    if (auto set = core_.set_limits(Level::system(), limits_of(2), {}); !set) return set.error();
    if (auto set = core_.set_limits(Level::entity(entities_[1], "bench"), limits_of(10), {}); !set)
      return set.error();
    const std::vector<NamedLimit> little{{"l10", *Limit::parse("1/day")}};
    if (auto set = core_.set_limits(Level::entity(entities_[4], "bench"), little, {}); !set)
      return set.error();
    for (const std::string& entity : entities_) {
      Entity one{.id = entity};
      if (entity == entities_[2]) {
        one.parent = entities_[3];
        one.cascade = true;
      }
      if (auto put = core_.put_entity(one); !put) return put.error();
    }
    return {};
  }

  Result<void> measure_all() {
    if (auto prepared = prepare(); !prepared) return prepared;
    const auto admit = [&](const std::string& entity) -> Result<void> {
      auto decision = core_.acquire(entity, "bench", charge_, {});
      return decision ? Result<void>() : Result<void>(decision.error());
    };
    const auto settle = [&]() -> Result<void> {
      auto changed =
          core_.change_by_id(lease_, {.verb = detail::LeaseVerb::settle, .key = {}, .charges = charge_});
      return changed ? Result<void>() : Result<void>(changed.error());
    };
    const auto open = [&]() -> Result<void> {
      auto decision = core_.acquire(entities_[0], "bench", more_, {});
      if (!decision) return decision.error();
      auto id = decision->lease().id();
      if (!id) return id.error();
      lease_ = *std::move(id);
      return {};
    };
    using Work = std::function<Result<void>()>;
    struct Step {
      const char* what;
      const char* designed;
      Work before;
      Work work;
      int times;
    };
    const Work nothing = [] { return Result<void>(); };
    const auto on = [&](std::size_t entity) {
      return Work([&, entity] { return admit(entities_[entity]); });
    };
    const Step steps[] = {
        {"acquire, 2 limits, cold", "2 reads + 1 write", nothing, on(0), 1},
        {"acquire, 2 limits, warm", "1 read + 1 write", nothing, on(0), rounds},
        {"acquire, 10 limits, warm", "1 read + 2 writes", on(1), on(1), rounds},
        {"acquire over two entities, warm", "2 reads + 4 writes", on(2), on(2), rounds},
        {"refusal that is known", "1 read", on(4), on(4), 1},
        {"settle by id", "", open, settle, rounds},
    };
    for (const Step& step : steps) {
      if (auto measured = measure(step.what, step.designed, step.before, step.work, step.times); !measured)
        return measured;
    }
    return {};
  }

  Result<void> measure(const char* what, const char* designed, const std::function<Result<void>()>& before,
                       const std::function<Result<void>()>& work, int times) {
    CostLine& line = lines_.emplace_back(CostLine{.what = what, .designed = designed});
    const aws::DynamoCounts& counts = store_->client().counts();
    for (int i = 0; i < times; ++i) {
      if (auto done = before(); !done) return done;
      const auto requests = counts.requests.load();
      const auto consumed = counts.consumed.load();
      const auto by_reads = counts.by_reads.load();
      if (auto done = work(); !done) return done;
      const auto read = counts.by_reads.load() - by_reads;
      line.requests += static_cast<double>(counts.requests.load() - requests) / times;
      line.read_units += static_cast<double>(read) / 1000 / times;
      line.write_units += static_cast<double>(counts.consumed.load() - consumed - read) / 1000 / times;
    }
    return {};
  }

  std::shared_ptr<dynamodb::DynamoStore> store_;
  limiter::Core core_;
  const std::vector<Charge> charge_{{"l10", 1}};
  const std::vector<Charge> more_{{"l10", 2}};  ///< so that settling gives something back
  std::vector<std::string> entities_;
  std::string lease_;
  std::vector<CostLine> lines_;
};

}  // namespace

double CostLine::per_million() const {
  return read_units * dollars_per_million_reads + write_units * dollars_per_million_writes;
}

Result<std::vector<CostLine>> measure_cost(std::string_view url) {
  auto parsed = parse_store_url(url);
  if (!parsed) return parsed.error();
  if (parsed->kind != StoreKind::dynamodb)
    return base::invalid(
        "only dynamodb://TABLE is paid by request; for other stores there is nothing to measure");
  auto store = dynamodb::DynamoStore::open(parsed->dynamodb);
  if (!store) return store.error();
  return Bench(*std::move(store), {.name_space = "weir-bench"}).run();
}

}  // namespace weir::app

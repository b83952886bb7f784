// sync simulate: draws how shares follow demand.
#include <algorithm>
#include <sstream>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wide.h"
#include "cli/read.h"
#include "cli/sync.h"
#include "sync/simulation.h"

namespace weir::cli {
namespace {

constexpr std::size_t largest_demand_file = std::size_t{16} << 20U;
constexpr std::size_t most_windows = 10'000;
constexpr int most_regions = 8;
/// A region asks for its demand in this many parts.
constexpr int parts_of_window = 20;
constexpr std::size_t width_of_chart = 60;

/// What each region asks for, window by window, in millitokens.
using Demand = std::vector<std::vector<sync::Millitokens>>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

Result<Demand> read_demand(const std::string& file, std::size_t regions) {
  auto text = base::read_file(file, largest_demand_file);
  if (!text) return text.error();
  Demand demand;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<sync::Millitokens>& window = demand.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) {
      const auto amount = Amount::parse(trimmed(field));
      if (!amount || *amount < Amount() || !amount->in_range()) {
        return base::invalid(file, ":", std::to_string(number), ": ", base::quoted(field),
                             " is no amount; write one for each region, such as 100,0,20");
      }
      window.push_back(amount->millitokens());
    }
    if (window.size() != regions) {
      return base::invalid(file, ":", std::to_string(number), " has ", std::to_string(window.size()),
                           " amounts, and there are ", std::to_string(regions),
                           " regions; write one for each, or use --regions");
    }
  }
  if (demand.empty() || demand.size() > most_windows)
    return base::invalid(file, " must have 1 to 10000 lines, one for each window");
  return demand;
}

/// Without a file: all demand moves from the first region to the second, and then to all.
Demand example_demand(std::size_t regions, sync::Millitokens whole) {
  Demand demand;
  for (int window = 0; window < 36; ++window) {
    std::vector<sync::Millitokens>& one = demand.emplace_back(regions, 0);
    for (std::size_t region = 0; region < regions; ++region) {
      const bool asks = window < 12 ? region == 0 : window < 24 ? region == 1 : true;
      if (asks) one[region] = whole / 6;
    }
  }
  return demand;
}

/// A stacked bar: as many of a region's letter as its part of the whole.
std::string stacked(const std::vector<sync::Millitokens>& shares, sync::Millitokens whole) {
  std::string text;
  sync::Millitokens sum = 0;
  for (std::size_t region = 0; region < shares.size(); ++region) {
    sum += shares[region];
    const auto end =
        static_cast<std::size_t>(base::Int128{sum} * width_of_chart / std::max<sync::Millitokens>(whole, 1));
    text.resize(std::max(text.size(), end), static_cast<char>('a' + region));
  }
  return text;
}

class Simulated {
 public:
  Simulated(Session& session, sync::Simulation& simulation, NamedLimit limit, std::size_t regions)
      : session_(session), simulation_(simulation), limit_(std::move(limit)), regions_(regions) {}

  Result<void> run(const Demand& demand, Time window) {
    const sync::Millitokens whole = limit_.limit.capacity().millitokens();
    JsonList list(session_.out(), "windows");
    if (!session_.json()) print_legend();
    for (std::size_t at = 0; at < demand.size(); ++at) {
      if (auto done = one_window(demand[at], window); !done) return done;
      std::vector<sync::Millitokens> shares;
      for (std::size_t region = 0; region < regions_; ++region)
        shares.push_back(simulation_.in_force(region, "entity", limit_.name).capacity().millitokens());
      session_.json() ? list.add(json_of(at, shares)) : print(at, shares, whole);
    }
    if (session_.json()) list.end();
    return {};
  }

 private:
  Result<void> one_window(const std::vector<sync::Millitokens>& demand, Time window) {
    admitted_ = 0;
    for (int part = 0; part < parts_of_window; ++part) {
      simulation_.advance(window / parts_of_window);
      for (std::size_t region = 0; region < regions_; ++region) {
        // The cycles of the regions are spread over the window.
        if (static_cast<std::size_t>(part) == region * parts_of_window / regions_) {
          if (auto cycle = simulation_.cycle(region); !cycle) return cycle.error();
        }
        if (const sync::Millitokens asked = demand[region] / parts_of_window; asked > 0)
          admitted_ += simulation_.take(region, "entity", asked);
      }
    }
    return {};
  }
  void print_legend() const {
    session_.out() << "the shares of " << regions_ << " regions, a to "
                   << static_cast<char>('a' + regions_ - 1) << ", of " << limit_.name << " "
                   << limit_.limit.capacity().to_string() << "; a line for each window\n";
  }
  void print(std::size_t window, const std::vector<sync::Millitokens>& shares,
             sync::Millitokens whole) const {
    std::string number = std::to_string(window + 1);
    number.insert(0, number.size() < 4 ? 4 - number.size() : 0, ' ');
    std::string bar = stacked(shares, whole);
    bar.resize(std::max(bar.size(), width_of_chart), '.');
    session_.out() << number << " |" << bar << "| admitted " << Amount::milli(admitted_).to_string() << "\n";
  }
  std::string json_of(std::size_t window, const std::vector<sync::Millitokens>& shares) const {
    auto list = base::JsonWriter::array();
    for (const sync::Millitokens share : shares) list.add(Amount::milli(share).to_string());
    return base::JsonWriter::object()
        .number("window", static_cast<long long>(window) + 1)
        .raw("shares", list.str())
        .raw("admitted", Amount::milli(admitted_).to_string())
        .str();
  }

  Session& session_;
  sync::Simulation& simulation_;
  const NamedLimit limit_;
  const std::size_t regions_;
  sync::Millitokens admitted_ = 0;
};

}  // namespace

Result<ExitCode> simulate_sync(Session& session, const Arguments& arguments) {
  auto regions = read_number("--regions", arguments.regions.value_or("3"), 2, most_regions);
  if (!regions) return regions.error();
  const auto count = static_cast<std::size_t>(*regions);
  auto limits = arguments.limits.empty() ? parse_limits({{"rpm", "600/min"}}) : read_limits(arguments.limits);
  if (!limits) return limits.error();
  if (limits->size() != 1 || limits->front().limit.kind() != Kind::rate)
    return base::invalid("-l: a simulation has one limit with a rate, such as rpm:600/min");
  sync::Simulation::Options options{.limits = *limits, .entities = {"entity"}, .floor = sync::Floor::share};
  if (arguments.floor && *arguments.floor != "whole" && *arguments.floor != "share")
    return base::invalid("--floor: use whole or share");
  if (arguments.floor == "whole") options.floor = sync::Floor::whole;
  for (std::size_t i = 0; i < count; ++i) options.regions.emplace_back(1, static_cast<char>('a' + i));
  auto demand = arguments.demand
                    ? read_demand(*arguments.demand, count)
                    : Result<Demand>(example_demand(count, limits->front().limit.capacity().millitokens()));
  if (!demand) return demand.error();
  sync::MemoryExchange exchange;
  const Time window = options.window;
  auto simulation = sync::Simulation::make(std::move(options), exchange);
  if (!simulation) return simulation.error();
  if (auto ran = Simulated(session, **simulation, limits->front(), count).run(*demand, window); !ran)
    return ran.error();
  return done;
}

}  // namespace weir::cli

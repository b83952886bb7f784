#include "twins/shapes.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

namespace weir::twins {
namespace {

struct Values {
  const char* name;
  std::vector<const char*> values;
};

const std::array<Values, factor_count>& factors() {
  static const std::array<Values, factor_count> all = {{
      {"depth", {"1", "2", "3", "5", "8"}},
      {"limits", {"1", "2", "3", "8", "16"}},
      {"burst", {"equal", "above"}},
      {"multiplier", {"1", "2", "7"}},
      {"age", {"new", "existing", "expired"}},
      {"named", {"all", "subset", "zeros"}},
      {"keys", {"none", "at once", "late", "after expiry"}},
      {"leases", {"none", "own", "by another", "after rebirth"}},
      {"changes", {"none", "raise", "lower", "add", "remove", "several asleep"}},
      {"request limits", {"no", "yes"}},
      {"inherit", {"no", "yes"}},
      {"modes", {"no", "yes"}},
      {"plans", {"no", "yes"}},
      {"concurrent", {"none", "one", "two", "full lists"}},
      {"access", {"none", "blocked", "parent blocked", "top blocked", "exempt", "exempt and blocked"}},
      {"rules", {"for good", "one resource", "ended", "removed"}},
      {"clock", {"small", "refill", "beyond expiry", "back a little", "ahead and back"}},
  }};
  return all;
}

constexpr std::array<int, 5> depths = {1, 2, 3, 5, 8};
constexpr std::array<int, 5> limit_counts = {1, 2, 3, 8, 16};
constexpr std::array<int, 3> multipliers = {1, 2, 7};

using Pair = std::array<std::size_t, 4>;

std::vector<Pair> pairs_of(const Shape& shape) {
  std::vector<Pair> pairs;
  for (std::size_t f = 0; f < factor_count; ++f) {
    for (std::size_t g = f + 1; g < factor_count; ++g)
      pairs.push_back(
          {f, static_cast<std::size_t>(shape.value[f]), g, static_cast<std::size_t>(shape.value[g])});
  }
  return pairs;
}

std::set<Pair> all_pairs() {
  std::set<Pair> pairs;
  for (std::size_t f = 0; f < factor_count; ++f) {
    for (std::size_t g = f + 1; g < factor_count; ++g) {
      for (std::size_t a = 0; a < factors()[f].values.size(); ++a) {
        for (std::size_t b = 0; b < factors()[g].values.size(); ++b) pairs.insert({f, a, g, b});
      }
    }
  }
  return pairs;
}

/// A row that starts from a pair that is still open and chooses every other value, in random order, so that
/// it closes the most pairs with those chosen before.
Shape grow(const std::set<Pair>& open, std::mt19937& random) {
  Shape shape;
  shape.value.fill(-1);
  auto start = open.begin();
  std::advance(start, static_cast<long>(random() % open.size()));
  shape.value[(*start)[0]] = static_cast<int>((*start)[1]);
  shape.value[(*start)[2]] = static_cast<int>((*start)[3]);
  std::array<std::size_t, factor_count> order{};
  for (std::size_t f = 0; f < factor_count; ++f) order[f] = f;
  for (std::size_t i = factor_count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  for (const std::size_t f : order) {
    if (shape.value[f] >= 0) continue;
    const std::size_t count = factors()[f].values.size();
    const std::size_t shift = random() % count;
    std::size_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t value = (i + shift) % count;
      std::size_t closed = 1;
      for (std::size_t g = 0; g < factor_count; ++g) {
        if (g == f || shape.value[g] < 0) continue;
        const auto other = static_cast<std::size_t>(shape.value[g]);
        closed += open.count(f < g ? Pair{f, value, g, other} : Pair{g, other, f, value});
      }
      if (closed <= most) continue;
      most = closed;
      shape.value[f] = static_cast<int>(value);
    }
  }
  return shape;
}

}  // namespace

int Shape::depth() const { return depths[static_cast<std::size_t>((*this)[Factor::depth])]; }
int Shape::limits() const { return limit_counts[static_cast<std::size_t>((*this)[Factor::limits])]; }
int Shape::multiplier() const { return multipliers[static_cast<std::size_t>((*this)[Factor::multiplier])]; }

std::string Shape::text() const {
  std::string text;
  for (std::size_t f = 0; f < factor_count; ++f) {
    const auto factor = static_cast<Factor>(f);
    text += std::string(f == 0 ? "" : ", ") + name_of(factor) + " " + name_of(factor, value[f]);
  }
  return text;
}

std::size_t values_of(Factor factor) { return factors()[static_cast<std::size_t>(factor)].values.size(); }
const char* name_of(Factor factor) { return factors()[static_cast<std::size_t>(factor)].name; }
const char* name_of(Factor factor, int value) {
  return factors()[static_cast<std::size_t>(factor)].values[static_cast<std::size_t>(value)];
}

std::vector<Shape> covering_array() {
  constexpr int candidates = 30;
  std::mt19937 random(1);
  std::vector<Shape> rows;
  std::set<Pair> open = all_pairs();
  while (!open.empty()) {
    Shape best;
    std::size_t most = 0;
    for (int i = 0; i < candidates; ++i) {
      const Shape shape = grow(open, random);
      std::size_t closed = 0;
      for (const Pair& pair : pairs_of(shape)) closed += open.count(pair);
      if (closed <= most) continue;
      most = closed;
      best = shape;
    }
    for (const Pair& pair : pairs_of(best)) open.erase(pair);
    rows.push_back(best);
  }
  return rows;
}

std::size_t PairCounts::index(std::size_t f, int a, std::size_t g, int b) {
  return ((f * factor_count + g) * most_values + static_cast<std::size_t>(a)) * most_values +
         static_cast<std::size_t>(b);
}

void PairCounts::add(const Shape& shape, const Seen& seen) {
  for (std::size_t f = 0; f < factor_count; ++f) {
    for (std::size_t g = f + 1; g < factor_count; ++g)
      counts_[index(f, shape.value[f], g, shape.value[g])] += std::min(seen[f], seen[g]);
  }
}

bool PairCounts::lacks(const Shape& shape, bool clock_goes_back, const Seen& seen) const {
  for (std::size_t f = 0; f < factor_count; ++f) {
    for (std::size_t g = f + 1; g < factor_count; ++g) {
      const bool back = g == static_cast<std::size_t>(Factor::clock) && shape.value[g] >= clock_back;
      if (back && !clock_goes_back) continue;
      if (counts_[index(f, shape.value[f], g, shape.value[g])] + std::min(seen[f], seen[g]) == 0) return true;
    }
  }
  return false;
}

std::vector<std::string> PairCounts::missing(bool clock_goes_back) const {
  std::vector<std::string> missing;
  for (const Pair& pair : all_pairs()) {
    const auto [f, a, g, b] = pair;
    const bool back = g == static_cast<std::size_t>(Factor::clock) && b >= clock_back;
    if (back && !clock_goes_back) continue;
    if (counts_[index(f, static_cast<int>(a), g, static_cast<int>(b))] > 0) continue;
    missing.push_back(std::string(factors()[f].name) + " " + factors()[f].values[a] + " with " +
                      factors()[g].name + " " + factors()[g].values[b]);
  }
  return missing;
}

std::string PairCounts::table() const {
  std::string text;
  for (std::size_t f = 0; f < factor_count; ++f) {
    for (std::size_t g = f + 1; g < factor_count; ++g) {
      text += std::string(factors()[f].name) + " x " + factors()[g].name + ":";
      for (std::size_t a = 0; a < factors()[f].values.size(); ++a) {
        text += a == 0 ? " " : " | ";
        for (std::size_t b = 0; b < factors()[g].values.size(); ++b) {
          const std::uint64_t count = counts_[index(f, static_cast<int>(a), g, static_cast<int>(b))];
          text += (b == 0 ? "" : " ") + std::to_string(count);
        }
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace weir::twins

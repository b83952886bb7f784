// Counters of a store, for monitoring.
#pragma once

#include <string_view>
#include <vector>

namespace weir::store {

/// The value of a counter and its metric name. All texts live as long as the program.
struct Counter {
  struct Label {
    std::string_view name;
    std::string_view value;
  };
  std::string_view name;
  std::string_view help;
  std::vector<Label> labels;
  double value = 0;
};

}  // namespace weir::store

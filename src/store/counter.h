// Numbers that a store counts, for those who watch it.
#pragma once

#include <string_view>
#include <vector>

namespace weir::store {

/// A counter as it stands, under the name that it is exposed by. All texts live as long as the program.
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

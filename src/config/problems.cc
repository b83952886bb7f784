#include "config/problems.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/limits_file.h"

namespace weir::config {

void Problems::add(FilePosition place, std::string message) {
  const auto here = [&](const Problem& problem) { return problem.place == place; };
  if (std::any_of(listed_.begin(), listed_.end(), here)) return;
  if (listed_.size() == max_reported) {
    ++more_;
    return;
  }
  listed_.push_back({place, std::move(message)});
}

Error Problems::error() const {
  std::vector<Problem> sorted = listed_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Problem& a, const Problem& b) { return a.place < b.place; });
  std::string text;
  for (const auto& [place, message] : sorted) {
    if (!text.empty()) text += '\n';
    text +=
        base::join(file_, ":", std::to_string(place.line), ":", std::to_string(place.column), ": ", message);
  }
  if (more_ > 0) text += base::join("\n", file_, ": and ", std::to_string(more_), " more");
  return {ErrorCode::invalid_argument, text};
}

}  // namespace weir::config

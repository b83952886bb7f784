#include "gateway/model_names.h"

#include <utility>

namespace weir::gateway {

ModelNames::Verdict ModelNames::admit(std::uint64_t model, std::uint64_t network,
                                      std::chrono::milliseconds now) {
  if (is_known(model)) return Verdict::known;
  switch (fresh_.admit(model, network, now)) {
    case NewClients::Verdict::own:
      return Verdict::fresh;
    case NewClients::Verdict::first_shared:
      return Verdict::first_refused;
    case NewClients::Verdict::shared:
      break;
  }
  return Verdict::refused;
}

void ModelNames::answered(std::uint64_t model) {
  const base::Guard guard(mutex_);
  keep(model);
}

bool ModelNames::is_known(std::uint64_t model) {
  const base::Guard guard(mutex_);
  if (current_.contains(model)) return true;
  if (!previous_.contains(model)) return false;
  keep(model);
  return true;
}

void ModelNames::keep(std::uint64_t model) {
  current_.insert(model);
  if (current_.size() >= most_known_) previous_ = std::exchange(current_, {});
}

}  // namespace weir::gateway

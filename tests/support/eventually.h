// Waiting for a condition with bounded patience.
#pragma once

#include <chrono>
#include <thread>

namespace weir::tests {

/// True as soon as the condition holds; false if it does not within some twenty seconds.
template <class Condition>
bool eventually(Condition condition) {
  for (int patience = 0; patience < 4000; ++patience) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace weir::tests

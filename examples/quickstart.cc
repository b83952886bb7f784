#include <iostream>

#include "weir/weir.h"

int main() {
  auto limiter = *weir::Limiter::open("memory:");
  auto stored = limiter.set_limits(weir::Level::system(), {{"rpm", "2/min"}, {"tpm", "1000/min"}});
  if (!stored) std::cout << stored.error().message << "\n";

  for (int call = 1; call <= 3; ++call) {
    auto decision = limiter.acquire("key-1", "gpt-4", {{"rpm", 1}, {"tpm", 400}});
    if (!decision) {  // a mistake or an outage, never a refusal
      std::cout << decision.error().message << "\n";
    } else if (decision->never_fits()) {  // more than a bucket can ever hold
      std::cout << "call " << call << " asks for too much\n";
    } else if (decision->refused()) {  // nothing was charged
      std::cout << "call " << call << " refused, wait " << decision->retry_after()->count() << " ms\n";
    } else {  // 400 tokens are reserved: settle what the call really used
      auto settled = decision->lease().settle({{"tpm", 150}});
      if (settled)
        std::cout << "call " << call << " admitted, " << settled->find("tpm")->remaining.to_string()
                  << " left\n";
    }
  }
}

#include <cstdio>

#include "weir/weir.h"

int main() {
  auto limiter = weir::Limiter::open("memory:");
  if (!limiter->set_limits(weir::Level::system(), {{"rpm", "2/min"}, {"tpm", "1000/min"}})) return 1;

  for (int call = 1; call <= 3; ++call) {
    auto decision = limiter->acquire("key-1", "gpt-4", {{"rpm", 1}, {"tpm", 400}});
    if (!decision) {  // a mistake or an outage, never a refusal
      std::printf("error: %s\n", decision.error().message.c_str());
    } else if (decision->refused()) {  // nothing was charged
      std::printf("call %d refused, try again in %lld ms\n", call,
                  static_cast<long long>(decision->retry_after()->count()));
    } else {  // 400 tokens were reserved; settle what the call really used
      auto settled = decision->lease().settle({{"tpm", 150}});
      std::printf("call %d admitted, %s tokens left\n", call,
                  settled->find("tpm")->remaining.to_string().c_str());
    }
  }
}

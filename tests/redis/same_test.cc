// Redis means the same as memory.
#include <gtest/gtest.h>

#include "support/redis_server.h"
#include "support/twins.h"

namespace weir {
namespace {

TEST(RedisTwins, MeansTheSameAsMemoryHoweverOftenItIsOpenedAgain) {
  tests::RedisServer server;
  int stores = 0;
  tests::compare_with_memory(12, 600, [&] {
    const std::string url = server.patient_url() + "&prefix=store" + std::to_string(++stores);
    return [url](const Options& options) { return Limiter::open(url, options); };
  });
}

TEST(RedisTwins, MeansTheSameWhereRefusalsAreRemembered) {
  tests::RedisServer server;
  int stores = 0;
  tests::compare_with_memory(12, 600, [&] {
    const std::string url =
        server.patient_url() + "&refuse_ms=600000&prefix=store" + std::to_string(++stores);
    return [url](const Options& options) { return Limiter::open(url, options); };
  });
}

}  // namespace
}  // namespace weir

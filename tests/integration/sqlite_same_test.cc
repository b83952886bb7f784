// A file that is closed and opened again at random moments means the same as memory that is never closed.
#include <gtest/gtest.h>

#include <memory>

#include "support/folder.h"
#include "support/twins.h"

namespace weir {
namespace {

TEST(SqliteTwins, MeansTheSameAsMemoryHoweverOftenItIsOpenedAgain) {
  tests::compare_with_memory(12, 600, [] {
    return [folder = std::make_shared<tests::Folder>()](const Options& options) {
      return Limiter::open("sqlite:" + folder->file("weir.db"), options);
    };
  });
}

}  // namespace
}  // namespace weir

#include "store/usage.h"

#include "base/text.h"

namespace weir::store {

Error no_usage_error() { return base::error(ErrorCode::unavailable, "this store does not count usage"); }

UsageReader& no_usage() {
  class None final : public UsageReader {
    void read(const UsageQuery& /*query*/, const Paging& /*paging*/, Completion<Page<Usage>> done) override {
      done(no_usage_error());
    }
  };
  static None none;
  return none;
}

}  // namespace weir::store

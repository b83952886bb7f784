// Stores into which an operator writes limits with another program than weir.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "weir/weir.h"

namespace weir::sync {

/// A store with one limiter on it, and beside it a plain client of the database.
class RawStore {
 public:
  virtual ~RawStore() = default;
  virtual Limiter& limiter() = 0;
  virtual FakeClock& clock() = 0;
  /// Writes 77 `rpm` a minute for the entity `key` on `gpt-4`, without an expiry, over what is there.
  virtual void write() = 0;
  /// Deletes that record.
  virtual void erase() = 0;
  /// The record as it is stored.
  virtual std::string record() = 0;
};

struct RawKind {
  std::string name;
  std::function<std::unique_ptr<RawStore>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const RawKind& kind) { return out << kind.name; }

std::vector<RawKind> raw_stores();

}  // namespace weir::sync

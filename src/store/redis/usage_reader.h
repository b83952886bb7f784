// Reads the usage of a Redis store: the closed segments, and the open ones in the records of the buckets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/redis/call.h"
#include "store/redis/context.h"
#include "store/redis/usage_codec.h"
#include "store/redis/usage_index.h"
#include "store/usage.h"

namespace weir::redis {

/// The windows of one entity on one resource, by their start. A day has either hours or one row.
using Windows = std::map<Time, Usage>;

/// One read. Blocks.
class UsageRead {
 public:
  UsageRead(Context& context, const store::UsageQuery& query, const weir::Paging& paging);
  Result<weir::Page<Usage>> run();

 private:
  /// The usage that was read of an entity on a resource: the windows between two moments, and a moment that
  /// is not after the first later window.
  struct Found {
    Windows windows;
    Time next = never_;
  };
  Result<weir::Page<Usage>> of_entity();
  Result<weir::Page<Usage>> of_resource();
  /// The rows of all entities within some hours.
  Result<void> read_span(Time to);
  /// The rows of one hour of the entities after the cursor.
  Result<void> read_hour();
  /// Reads the usage of buckets; those of the same entity and resource are adjacent, and summed.
  Result<std::vector<Found>> read(const std::vector<UsedBucket>& buckets, Time from, Time to);
  void take(const UsedBucket& bucket, const KeptReply& reply, Time from, Time to, Found& found);
  /// Puts a window where it belongs: hours of a day that is kept as one are added to it.
  void add(Found& found, const UsedBucket& bucket, UsedWindow window, bool whole_day);
  Time first_kept_hour() const;
  std::string cursor() const;
  bool read_cursor();

  static constexpr Time never_ = limits::never;

  Context& context_;
  const store::UsageQuery& query_;
  const weir::Paging& paging_;
  UsageIndex index_;
  const Time now_;
  weir::Page<Usage> page_;
  // Without an entity: the hour that is read, its entities up to here, and the first later hour so far.
  Time hour_ = 0;
  std::string after_;
  Time next_ = never_;
  std::size_t read_ = 0;  ///< buckets
};

}  // namespace weir::redis

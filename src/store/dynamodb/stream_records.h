// Records of a table's stream, as GetRecords and events of Lambda have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "usage/aggregator.h"
#include "wire/json_reader.h"

namespace weir::dynamodb {

/// One record of the stream.
struct StreamRecord {
  std::string sequence;
  Time created = 0;                           ///< rounded; 0: not known
  std::optional<usage::BucketRecord> bucket;  ///< nothing: of another item, or malformed
  bool malformed = false;                     ///< of a bucket, but it cannot be used
};
/// Reads one record. `label`: of the stream. False: it is not a record.
bool read_record(wire::json::Reader& reader, std::string_view label, StreamRecord& record);

/// Reads the answer to GetRecords. False: it is none.
bool read_records(std::string_view body, std::string_view label, usage::ShardRead& read);

/// The label in the ARN of a stream: the time at which it was switched on.
std::string_view label_of(std::string_view stream_arn);

}  // namespace weir::dynamodb

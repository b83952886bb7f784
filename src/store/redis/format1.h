// Reads the buckets of format 1, which the first version of weir wrote. The next write converts a bucket to
// format 2.
//
// A hash with the fields
//   b   refilled at, expires at, kept until, version, stamp, generation, digest, hold, then tokens and
//       consumed of each limit, as doubles
//   p   names and parameters of the limits in force, as words
//   d   dormant limits: parameters, tokens, consumed, refilled at
//   oN  how often the counter of the N-th limit has gone past 2^52
#pragma once

#include <vector>

#include "store/redis/record.h"
#include "store/redis/words.h"

namespace weir::redis {

/// Reads the names and values of a hash. False: it is damaged. An empty hash is no bucket.
bool read_format1(const Reply& hash, ReadBucket& read);

/// Dormant limits of either format, brought to the moment of the bucket's last refill.
std::vector<bucket::LimitState> read_dormant(WordReader reader, Time at, bool& wrong);

}  // namespace weir::redis

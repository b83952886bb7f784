// The aggregator: a worker that counts the records of a stream into hours. A state machine without I/O: its
// owner carries out the operations that it starts, at the same time and in any order, and passes back the
// answers.
//
//     while (!aggregator.stopped()) {
//       for (Started& started : aggregator.poll(now)) <carry out started.operation>;
//       <wait for an answer, at most until aggregator.wake_at()>;
//       aggregator.answer(id, answer, now);
//     }
//
// It may end at any moment, with operations under way: the next worker goes on from the leases and cursors
// that were written. Not safe for concurrent use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "usage/deltas.h"
#include "usage/shard_leases.h"

namespace weir::usage {

struct AggregatorOptions {
  std::string worker;                 ///< its name; no two workers have the same
  Time batch = 1000;                  ///< a record waits this long for others of its bucket
  Time lease_for = 20'000;            ///< a lease that is not renewed for this long is taken by others
  Time discover_every = 10'000;       ///< how often shards and leases are listed
  Time poll_idle = 1000;              ///< the pause after a read without records
  Time poll_busy = 200;               ///< the pause after another read: a shard allows five in a second
  Time retry_after = 500;             ///< the pause after a failure
  std::size_t most_writes = 32;       ///< at the same time
  std::size_t most_pending = 50'000;  ///< records in memory, beyond which no more are read
  std::size_t most_cursors = 50'000;  ///< cursors in memory, which save a read for each write
};

/// Counters of the work done.
struct AggregatorCounts {
  std::uint64_t records = 0;    ///< of buckets, read from the stream
  std::uint64_t events = 0;     ///< counted
  std::uint64_t deltas = 0;     ///< counted: changes of one limit
  std::uint64_t writes = 0;     ///< of usage
  std::uint64_t refused = 0;    ///< writes whose cursor had been moved by another worker
  std::uint64_t failures = 0;   ///< operations that failed and are tried again
  std::uint64_t malformed = 0;  ///< records that cannot be used
  std::uint64_t made_good = 0;  ///< records whose images also contained the change of a dropped record
  std::uint64_t trimmed = 0;    ///< places at which the stream had dropped records before they were read
};

// Operations.
/// Lists the shards of the stream and all leases. Answer: Discovered.
struct Discover {};
/// Answer: Written.
struct WriteLease {
  LeaseChange change;
  bool takes = false;  ///< the shard was not this worker's before
};
/// Deletes a lease, if it is as it was read. Answer: Written.
struct EraseLease {
  ShardLease lease;
};
/// Reads records of a shard: with an iterator, or from a record, or from the first that the stream still
/// has. Answer: ShardRead.
struct ReadShard {
  std::string shard;
  std::string iterator;
  std::string sequence;
};
/// Answer: std::optional<StreamCursor>.
struct ReadCursor {
  BucketId bucket;
};
/// Writes the cursor and the sums in one step, on condition of the cursor. Answer: Written.
struct WriteUsage {
  BucketId bucket;
  Advance advance;
};
using Operation = std::variant<Discover, WriteLease, EraseLease, ReadShard, ReadCursor, WriteUsage>;

struct Started {
  std::uint64_t id = 0;
  Operation operation;
};

// Answers.
/// The operation failed, or it is unknown whether it was carried out.
struct Failed {};
struct Discovered {
  std::vector<Shard> shards;
  std::vector<ShardLease> leases;
};
enum class Written : unsigned char { done, refused };
struct ShardRead {
  enum class State : unsigned char {
    read,
    expired,  ///< the iterator is too old
    trimmed,  ///< the stream does not have this record any more
  };
  State state = State::read;
  std::vector<BucketRecord> records = {};
  std::string iterator = {};       ///< for the next read; empty: the shard ended
  std::string last_sequence = {};  ///< of the last record, also of one that is not a bucket's
  Time newest = 0;                 ///< when the stream took that record
  std::uint64_t malformed = 0;
  bool empty = true;  ///< there was no record, not even of another item
};
using Answer = std::variant<Failed, Discovered, Written, ShardRead, std::optional<StreamCursor>>;

class Aggregator {
 public:
  explicit Aggregator(AggregatorOptions options) : options_(std::move(options)) {}

  /// The operations to begin now.
  std::vector<Started> poll(Time now);
  /// Takes the answer of an operation.
  void answer(std::uint64_t id, const Answer& answer, Time now);
  /// When to call poll() again, unless an answer comes before.
  Time wake_at(Time now) const;

  /// How long usage is kept: hours that are not kept any more are counted in their day.
  void keep(const Kept& kept) { kept_ = kept; }
  /// Reads no more, counts what was read, and gives the leases back.
  void stop();
  bool stopped() const { return stopping_ && held_.empty() && under_way_.empty(); }

  const AggregatorCounts& counts() const { return counts_; }
  /// How long ago the oldest record was made that was not counted yet; 0: there is none.
  Time lag(Time now) const;
  /// Whether every shard that this worker reads was read to its present end.
  bool caught_up() const;
  /// Every record of this worker's shards that was in the stream at this moment was counted; 0: not known.
  Time complete_until() const;
  std::size_t shards() const { return held_.size(); }

 private:
  /// A shard that this worker reads.
  struct Held {
    ShardLease lease;         ///< as it was last written
    std::string iterator;     ///< empty: from `sequence`
    std::string sequence;     ///< of the last record that was read, or where to begin
    Time newest = 0;          ///< when that record was made
    Time read_at = 0;         ///< the time of the next read
    Time asked_at = 0;        ///< the time of the last one
    Time complete_until = 0;  ///< the time of the last one that found nothing
    bool reading = false;
    bool ended = false;    ///< read to its end
    bool writing = false;  ///< its lease
    bool at_end = false;   ///< the last read found nothing
  };
  /// Records of a bucket that are not counted yet.
  struct Pending {
    std::vector<BucketRecord> records;
    bool busy = false;       ///< an operation is under way, or the key waits in due_
    bool postponed = false;  ///< until the read that is under way
  };
  using Key = std::pair<std::string, BucketId>;  ///< shard, bucket
  struct UnderWay {
    Operation operation;
    Key key = {};
  };

  void start(Operation operation, Key key = {});
  void poll_shard(Held& held, Time now);
  void renew(Held& held, Time now);
  bool postpone(const Key& key, Time now);
  void count(const Key& key);
  void wait(const Key& key, Time until);
  void drop(const std::string& shard);
  bool has_pending(const std::string& shard) const;
  const BucketRecord* first_pending(const std::string& shard) const;

  void take(const Discover& asked, const Key& key, const Answer& answer, Time now);
  void take(const WriteLease& asked, const Key& key, const Answer& answer, Time now);
  void take(const EraseLease& asked, const Key& key, const Answer& answer, Time now);
  void take(const ReadShard& asked, const Key& key, const Answer& answer, Time now);
  void take(const ReadCursor& asked, const Key& key, const Answer& answer, Time now);
  void take(const WriteUsage& asked, const Key& key, const Answer& answer, Time now);
  void add(Held& held, const ShardRead& read, Time now);

  const AggregatorOptions options_;
  Kept kept_;
  AggregatorCounts counts_;
  bool stopping_ = false;
  bool discovering_ = false;
  Time discover_at_ = 0;
  std::uint64_t last_id_ = 0;
  std::size_t writing_ = 0;          ///< reads of cursors and writes of usage under way
  std::size_t pending_records_ = 0;  ///< in all of pending_
  std::map<std::string, Held> held_;
  std::map<Key, Pending> pending_;
  std::multimap<Time, Key> due_;
  std::map<BucketId, std::optional<StreamCursor>> cursors_;  ///< absent: not known
  std::map<std::uint64_t, UnderWay> under_way_;
  std::vector<Started> started_;
};

}  // namespace weir::usage

// The aggregator over a stream and a table in memory. Its operations are carried out in any order, answers
// get lost, and workers are killed while operations are under way.
#include "usage/aggregator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>

namespace weir::usage {
namespace {

constexpr Time start = 2'000'001'600'000 / hour * hour;

using Totals = std::map<std::pair<BucketId, Time>, HourSum>;

void add(Totals& totals, const BucketId& bucket, const HourSum& sum) {
  HourSum& total = totals[{bucket, sum.hour}];
  total.hour = sum.hour;
  total.events += sum.events;
  for (const Used& used : sum.amounts) {
    auto at = std::find_if(total.amounts.begin(), total.amounts.end(),
                           [&](const Used& one) { return one.limit == used.limit; });
    if (at == total.amounts.end()) at = total.amounts.insert(at, {used.limit, 0});
    at->amount += used.amount;
  }
  std::erase_if(total.amounts, [](const Used& used) { return used.amount == 0; });
  std::sort(total.amounts.begin(), total.amounts.end(),
            [](const Used& a, const Used& b) { return a.limit < b.limit; });
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t bound) { return engine_() % bound; }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::mt19937_64 engine_;
};

/// A stream in memory, with shards that are split and replaced.
class FakeStream {
 public:
  struct Part {
    Shard shard;
    bool closed = false;
    std::vector<BucketRecord> records = {};
  };

  explicit FakeStream(Random& random) : random_(random) {
    open({});
    open({});
  }
  void append(BucketRecord record) {
    const std::string sequence = std::to_string(++sequence_ * 7);
    record.sequence = sequence;
    record.position = stream_position("label", sequence);
    part_of(record.bucket).records.push_back(std::move(record));
  }
  /// Closes an open shard. It gets one or two children, between which its buckets are divided.
  void reshard() {
    Part* const part = open_ones()[random_.below(open_ones().size())];
    part->closed = true;
    const std::string id = part->shard.id;
    const std::size_t children = 1 + random_.below(2);
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < children; ++i) ids.push_back(open(id));
    for (auto& [bucket, shard] : shard_of_) {
      if (shard == id) shard = ids[random_.below(children)];
    }
  }
  std::vector<Shard> list() const {
    std::vector<Shard> shards;
    for (const auto& part : parts_) shards.push_back(part->shard);
    return shards;
  }
  ShardRead read(const ReadShard& asked) {
    const auto part = std::find_if(parts_.begin(), parts_.end(),
                                   [&](const auto& one) { return one->shard.id == asked.shard; });
    if (!asked.iterator.empty() && random_.one_in(50)) return {.state = ShardRead::State::expired};
    const auto& records = (*part)->records;
    std::size_t from = 0;
    if (!asked.iterator.empty()) {
      from = std::stoul(asked.iterator);
    } else if (!asked.sequence.empty()) {
      while (from < records.size() && records[from].sequence != asked.sequence) ++from;
    }
    // A batch may repeat records that were read before.
    if (random_.one_in(8)) from -= std::min(from, random_.below(5));
    const std::size_t to = std::min(records.size(), from + random_.below(20));
    ShardRead read;
    read.records.assign(records.begin() + static_cast<std::ptrdiff_t>(from),
                        records.begin() + static_cast<std::ptrdiff_t>(to));
    read.empty = read.records.empty();
    if (!read.empty) read.last_sequence = read.records.back().sequence;
    if (!(*part)->closed || to < records.size()) read.iterator = std::to_string(to);
    return read;
  }

 private:
  std::string open(std::string parent) {
    parts_.push_back(std::make_unique<Part>());
    parts_.back()->shard = {"shard-" + std::to_string(parts_.size()), std::move(parent)};
    return parts_.back()->shard.id;
  }
  std::vector<Part*> open_ones() {
    std::vector<Part*> found;
    for (auto& part : parts_) {
      if (!part->closed) found.push_back(part.get());
    }
    return found;
  }
  Part& part_of(const BucketId& bucket) {
    auto known = shard_of_.find(bucket);
    if (known == shard_of_.end())
      known = shard_of_.emplace(bucket, open_ones()[random_.below(open_ones().size())]->shard.id).first;
    for (auto& part : parts_) {
      if (part->shard.id == known->second) return *part;
    }
    std::abort();
  }

  Random& random_;
  std::uint64_t sequence_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<BucketId, std::string> shard_of_;
};

/// Buckets that are charged, refunded, replaced and deleted at random, and what they used.
class Buckets {
 public:
  Buckets(Random& random, FakeStream& stream, std::size_t count) : random_(random), stream_(stream) {
    for (std::size_t i = 0; i < count; ++i) ids_.push_back({"default", "key-" + std::to_string(i), "gpt-4"});
  }
  void write(Time now) {
    const BucketId& id = ids_[random_.below(ids_.size())];
    std::optional<Counters>& state = states_[id];
    // Clocks of several processes differ.
    const Time at = random_.one_in(10) ? now - static_cast<Time>(random_.below(2 * hour)) : now;
    BucketRecord record{.bucket = id, .sequence = {}, .position = {}, .at = at, .created = now, .old = state};
    if (state && random_.one_in(40)) {
      state.reset();
      return stream_.append(std::move(record));
    }
    const bool is_new = !state || random_.one_in(40);
    Counters next = is_new ? Counters{++generation_} : *state;
    next.counts = !random_.one_in(15);
    std::string leaves;
    if (random_.one_in(12) && !next.amounts.empty()) {
      leaves = next.amounts.front().limit;
      next.amounts.erase(next.amounts.begin());
    }
    HourSum sum{hour_of(at), {}, 1};
    for (const char* const limit : {"rpm", "tpm"}) {
      const auto amount = static_cast<std::int64_t>(random_.below(5000)) - 1000;
      if (random_.one_in(3) || leaves == limit) continue;
      auto counter = std::find_if(next.amounts.begin(), next.amounts.end(),
                                  [&](const Used& used) { return used.limit == limit; });
      if (counter == next.amounts.end()) counter = next.amounts.insert(counter, {limit, 0});
      counter->amount += amount;
      if (amount != 0) sum.amounts.push_back({limit, amount});
    }
    std::sort(next.amounts.begin(), next.amounts.end(),
              [](const Used& a, const Used& b) { return a.limit < b.limit; });
    if (!sum.amounts.empty() && next.counts) add(used_, id, sum);
    record.next = state = next;
    stream_.append(std::move(record));
  }
  const Totals& used() const { return used_; }

 private:
  Random& random_;
  FakeStream& stream_;
  std::vector<BucketId> ids_;
  std::map<BucketId, std::optional<Counters>> states_;
  std::uint64_t generation_ = 0;
  Totals used_;
};

/// The leases, cursors and hours that workers share.
class FakeTable {
 public:
  explicit FakeTable(FakeStream& stream) : stream_(stream) {}

  Answer carry_out(const Operation& operation) {
    return std::visit([&](const auto& asked) { return run(asked); }, operation);
  }
  void forget_leases() { leases_.clear(); }
  const Totals& used() const { return used_; }

 private:
  Answer run(const Discover& /*asked*/) {
    Discovered found{stream_.list(), {}};
    for (const auto& [shard, lease] : leases_) found.leases.push_back(lease);
    return found;
  }
  Answer run(const WriteLease& asked) {
    const auto known = leases_.find(asked.change.next.shard);
    const bool same = known == leases_.end() ? !asked.change.before : known->second == asked.change.before;
    if (!same) return Written::refused;
    leases_[asked.change.next.shard] = asked.change.next;
    return Written::done;
  }
  Answer run(const EraseLease& asked) {
    const auto known = leases_.find(asked.lease.shard);
    if (known == leases_.end() || known->second != asked.lease) return Written::refused;
    leases_.erase(known);
    return Written::done;
  }
  Answer run(const ReadShard& asked) { return stream_.read(asked); }
  Answer run(const ReadCursor& asked) {
    // That of the latest hour.
    auto at = hours_.upper_bound({asked.bucket, std::numeric_limits<Time>::max()});
    if (at == hours_.begin() || (--at)->first.first != asked.bucket) return std::optional<StreamCursor>();
    std::optional<StreamCursor> cursor = at->second;
    if (cursor) cursor->hour = at->first.second;
    return cursor;
  }
  Answer run(const WriteUsage& asked) {
    using Condition = HourWrite::Condition;
    const std::vector<HourWrite> writes = writes_of(asked.advance);
    for (const HourWrite& write : writes) {
      const auto known = hours_.find({asked.bucket, write.hour});
      const bool has_cursor = known != hours_.end() && known->second;
      if (write.condition == Condition::no_cursor && has_cursor) return Written::refused;
      if (write.condition == Condition::cursor && !(has_cursor && known->second->position == write.position))
        return Written::refused;
    }
    for (const HourWrite& write : writes) {
      std::optional<StreamCursor>& cursor = hours_[{asked.bucket, write.hour}];
      if (write.cursor) cursor = write.cursor;
      if (write.retires) cursor->position = *write.retires;
      if (write.events != 0) add(used_, asked.bucket, {write.hour, write.amounts, write.events});
    }
    return Written::done;
  }

  FakeStream& stream_;
  std::map<std::string, ShardLease> leases_;
  std::map<std::pair<BucketId, Time>, std::optional<StreamCursor>> hours_;
  Totals used_;
};

/// Several workers, and a network between them and the table that reorders, delays and loses.
class Fleet {
 public:
  Fleet(std::uint64_t seed, std::size_t workers) : random_(seed) {
    for (std::size_t i = 0; i < workers; ++i) begin(i);
  }

  /// One small step of something, chosen at random.
  void step() {
    now_ += static_cast<Time>(random_.below(120));
    const std::size_t worker = random_.below(workers_.size());
    for (Started& started : workers_[worker]->poll(now_))
      network_.push_back({worker, incarnations_[worker], std::move(started)});
    for (std::size_t i = random_.below(4); i > 0 && !network_.empty(); --i) deliver();
  }
  void kill(std::size_t worker) {
    // Its requests are still on their way.
    begin(worker);
  }
  void stop_all() {
    for (auto& worker : workers_) worker->stop();
  }
  bool stopped() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& one) { return one->stopped(); });
  }
  /// Whether everything was read and counted.
  bool at_rest() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [&](const auto& one) { return one->caught_up() && one->lag(now_) == 0; });
  }
  Time now() const { return now_; }

  Random random_;
  FakeStream stream_{random_};
  FakeTable table_{stream_};
  std::vector<std::unique_ptr<Aggregator>> workers_;
  bool reliable_ = false;

 private:
  struct Sent {
    std::size_t worker;
    int incarnation;
    Started started;
  };
  void begin(std::size_t worker) {
    if (workers_.size() <= worker) workers_.resize(worker + 1), incarnations_.resize(worker + 1);
    ++incarnations_[worker];
    AggregatorOptions options;
    options.worker = std::to_string(worker) + "." + std::to_string(incarnations_[worker]);
    options.lease_for = 2'000;
    options.discover_every = 1'000;
    options.most_writes = 4;
    options.most_cursors = 3;
    workers_[worker] = std::make_unique<Aggregator>(options);
  }
  void deliver() {
    const auto at = network_.begin() + static_cast<std::ptrdiff_t>(random_.below(network_.size()));
    const Sent sent = *at;
    // Some arrive again, maybe much later: the client repeats a request that it got no answer to.
    if (reliable_ || !random_.one_in(30)) network_.erase(at);
    const bool lost = !reliable_ && random_.one_in(20);
    Answer answer = lost && random_.one_in(2) ? Answer(Failed()) : table_.carry_out(sent.started.operation);
    if (lost) answer = Failed();
    if (sent.incarnation == incarnations_[sent.worker])
      workers_[sent.worker]->answer(sent.started.id, answer, now_);
  }

  Time now_ = start;
  std::vector<int> incarnations_;
  std::vector<Sent> network_;
};

/// The moment of the history that a moment of the fleet corresponds to: hours pass quickly.
Time moment(Time now) { return start + (now - start) * 60; }

std::string text_of(const Totals& totals, const Totals::key_type& key) {
  const auto found = totals.find(key);
  if (found == totals.end()) return "nothing";
  std::string text = std::to_string(found->second.events) + " events";
  for (const Used& used : found->second.amounts) text += " " + used.limit + "=" + std::to_string(used.amount);
  return text;
}

/// The first hour that differs; empty: none.
std::string difference(const Totals& counted, const Totals& used) {
  for (const Totals* const side : {&counted, &used}) {
    for (const auto& [key, sum] : *side) {
      if (text_of(counted, key) == text_of(used, key)) continue;
      return key.first.entity + " at " + std::to_string(key.second) + ": counted " + text_of(counted, key) +
             ", used " + text_of(used, key);
    }
  }
  return {};
}

std::uint64_t seeds() {
  const char* const given = std::getenv("WEIR_SEEDS");
  return given != nullptr ? std::stoul(given) : 3;
}

TEST(Aggregator, IsExactOverHundredsOfKillsOfThreeWorkers) {
  int kills = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    Fleet fleet(seed, 3);
    Buckets buckets(fleet.random_, fleet.stream_, 7);
    int killed = 0;
    for (int i = 0; i < 60'000; ++i) {
      fleet.step();
      if (fleet.random_.one_in(8)) buckets.write(moment(fleet.now()));
      if (fleet.random_.one_in(3'000)) fleet.stream_.reshard();
      if (!fleet.random_.one_in(200)) continue;
      ++killed;
      fleet.kill(fleet.random_.below(3));
      // The stream is read again from its beginning.
      if (fleet.random_.one_in(10)) fleet.table_.forget_leases();
    }
    fleet.reliable_ = true;
    for (int i = 0; i < 200'000 && fleet.table_.used() != buckets.used(); ++i) fleet.step();
    // Nothing more is counted, however often it is read.
    fleet.table_.forget_leases();
    for (int i = 0; i < 20'000 || !fleet.at_rest(); ++i) {
      fleet.step();
      ASSERT_LT(i, 400'000);
    }
    EXPECT_GE(killed, 200);
    kills += killed;
    EXPECT_EQ(difference(fleet.table_.used(), buckets.used()), "") << "seed " << seed;
    EXPECT_GT(buckets.used().size(), 100U);
    for (const auto& worker : fleet.workers_) {
      EXPECT_EQ(worker->counts().trimmed, 0U);
      EXPECT_EQ(worker->counts().made_good, 0U);
    }
  }
  std::cout << "kills: " << kills << "\n";
}

TEST(AggregatorLag, IsExactAlthoughTheStreamRoundsItsTimesToAMinute) {
  constexpr Time minute = 60'000;
  const Time now = 30'000'000 * minute + 1500;
  Aggregator machine({.worker = "one"});
  const auto next = [&] { return machine.poll(now).at(0); };
  machine.answer(next().id, Discovered{{{"shard"}}, {}}, now);
  machine.answer(next().id, Written::done, now);
  ShardRead read{.iterator = "next", .last_sequence = "1", .newest = now - 1500 - minute, .empty = false};
  read.records.push_back({.bucket = {"default", "key", "gpt-4"},
                          .sequence = "1",
                          .position = stream_position("2026-11-17T00:00:00.000", "1"),
                          .at = now - 2000,
                          .created = read.newest,
                          .next = Counters{1, {{"rpm", 1000}}}});
  machine.answer(next().id, read, now);
  EXPECT_EQ(machine.lag(now), 2000);
}

}  // namespace
}  // namespace weir::usage

// One operation on the buckets of a chain: carries out the actions of a machine, one request at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decision/chain.h"
#include "store/buckets.h"
#include "store/dynamodb/context.h"
#include "store/dynamodb/legacy.h"
#include "store/dynamodb/request.h"
#include "store/executor.h"

namespace weir::dynamodb {

/// Destroys itself with its completion, which is called on its executor, on the client's thread or inline.
class Operation : public aws::DynamoCall {
 protected:
  /// One bucket of the chain.
  struct ChainBucket {
    BucketName name;
    std::string id;  ///< key in the cache
    limits::ResolutionRef resolution;
    std::string parent;           ///< of the entity, as it was resolved
    std::size_t link = 0;         ///< in links_
    Time seen_at = 0;             ///< of the remembered image
    bool without_legacy = false;  ///< legacy items were looked for, and there are none
  };
  /// The texts must stay valid until the completion.
  Operation(Context& context, std::string_view name_space, std::string_view resource,
            store::Completion<store::Progress> done)
      : context_(context), name_space_(name_space), resource_(resource), done_(done) {}

  /// Adds an entity of the chain, with or without a bucket.
  void add_link(std::string_view entity) { links_.push_back(entity); }
  /// Adds the bucket of the last entity.
  void add_bucket(limits::ResolutionRef resolution);
  /// The machine's plan for one bucket of the chain, without charges.
  conditional::BucketPlan plan_of(std::size_t at) const;
  /// The cached images of the buckets.
  std::vector<conditional::Image> images();

  /// Reads every bucket, and the marker if it has a key. on_event() follows.
  void read_all();
  /// The same, and legacy items where there is no bucket: only for reports, not for writes.
  void read_to_show();
  /// Sends a transaction of a machine. on_event() follows.
  void write(const conditional::Transaction& transaction, Time now);
  /// Passes an event to the machine.
  virtual void on_event(const conditional::Event& event) = 0;
  void finish(Result<store::Progress> result);
  /// Whether a write of this operation was applied, or may have been. An error is then no proof that nothing
  /// was changed.
  virtual bool maybe_written() const = 0;
  /// The purpose under which the operation's capacity is counted at its end.
  virtual Purpose purpose(bool decided) const = 0;
  /// Stores the images of the buckets in the cache.
  void remember(const conditional::Snapshot& snapshot);
  /// The cached limits are older than the bucket.
  void distrust(std::size_t place, std::int64_t version);
  /// The chain has changed since it was resolved.
  void distrust_chain();

  /// Computes the balances of a link at a moment.
  static void show(decision::Chain& chain, decision::Link& link, const bucket::State* state, Time now);

  Context& context_;
  const std::string_view name_space_;
  const std::string_view resource_;
  std::vector<std::string_view> links_;  ///< the entities of the chain
  std::vector<ChainBucket> buckets_in_chain_;
  Key marker_key_;     ///< empty: none
  Time asked_at_ = 0;  ///< when the last request was sent

 private:
  void on_answer(const aws::DynamoAnswer& answer) final;
  void on_error(const aws::DynamoFailure& failure) final;
  void take_items(const aws::DynamoAnswer& answer);
  void submit(Request request);
  void send_writes(const std::vector<ItemWrite>& writes, bool happens_once, Time now);
  /// Before a bucket is created: converts its legacy items first; the transaction then counts as failed.
  bool wait_for_legacy(const conditional::Transaction& transaction, Time now);
  void find_legacy(std::size_t place);
  /// Handles the answers during that.
  void take_legacy(const aws::DynamoAnswer& answer);
  void found_legacy();
  void convert_legacy();
  void show_next_legacy(std::size_t place);
  void read_again();
  /// Takes one item of a read or of a failed condition.
  Result<void> take(const Item& item, conditional::Event& event);
  Result<void> take_bucket(std::size_t place, const Item& item, conditional::Event& event);
  Result<void> take_failure(const aws::DynamoFailure& failure, conditional::Event& event);

  store::Completion<store::Progress> done_;
  store::Executor* const executor_ = store::Executor::here();
  /// The purpose of a request for legacy items.
  enum class Legacy : unsigned char { no, finding, showing, converting, reading_again };
  Legacy legacy_step_ = Legacy::no;
  std::size_t legacy_place_ = 0;
  std::vector<LegacyLimit> legacy_;
  conditional::Transaction held_back_;
  Time held_back_at_ = 0;
  bool to_show_ = false;
  bool reading_ = false;
  /// The target of each write of the transaction: a bucket, or one of these.
  static constexpr std::size_t to_marker = std::size_t(-1), to_link = std::size_t(-2);
  std::vector<std::size_t> sent_to_;
  std::optional<conditional::Marker> sent_marker_;
  conditional::Event event_;  ///< while a read takes several answers
};

}  // namespace weir::dynamodb

// One operation on the buckets of a chain: carries out what a machine asks for, one request at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/buckets.h"
#include "store/dynamodb/request.h"
#include "store/dynamodb/site.h"
#include "store/home.h"
#include "store/table/stops.h"

namespace weir::dynamodb {

/// Destroys itself with its completion, which is called at its home, on the client's thread or inline.
class Operation : public aws::DynamoCall {
 protected:
  /// One bucket of the chain.
  struct Place {
    BucketName name;
    std::string id;  ///< in the memory
    limits::ResolutionRef resolution;
    bool had_dormant = false;
    std::vector<std::string> dormant = {};  ///< as last seen
    Time seen_at = 0;                       ///< the image from before
  };
  /// The texts must stay valid until the completion.
  Operation(Site& site, std::string_view name_space, std::string_view resource,
            store::Completion<store::Progress> done)
      : site_(site), name_space_(name_space), resource_(resource), done_(done) {}

  void add_place(std::string_view entity, limits::ResolutionRef resolution);
  /// What is remembered of the places.
  std::vector<conditional::Image> images();

  /// Reads every bucket, and the marker, unless its key is empty. on_read() follows.
  void read_all();
  /// Sends a transaction of a machine. on_event() follows.
  void write(const conditional::Transaction& transaction, Time now);
  /// Sets the refill time of a bucket that is ahead of everybody's clock to now. on_event() follows.
  void repair(std::size_t place, const bucket::State& state, Time now);
  /// What a machine is told.
  virtual void on_event(const conditional::Event& event) = 0;
  void finish(Result<store::Progress> result);
  /// Puts what is known of the buckets now into the memory.
  void remember(const conditional::Sight& sight);
  /// The limits of a place are older than the bucket.
  void distrust(std::size_t place, std::int64_t version);

  /// A stop at a place with what it holds at a moment.
  static void show(table::Stops& stops, table::Stop& stop, const bucket::State* state, Time now);

  Site& site_;
  const std::string_view name_space_;
  const std::string_view resource_;
  std::vector<Place> places_;
  Key marker_key_;                 ///< empty: none
  Time marker_deadline_ = 0;       ///< of the marker that is written
  Time seen_marker_deadline_ = 0;  ///< of the marker that was last seen

 private:
  void on_answer(const aws::DynamoAnswer& answer) final;
  void on_error(const aws::DynamoFailure& failure) final;
  void take_items(const aws::DynamoAnswer& answer);
  void submit(Request request);
  /// Takes one item that a read or a failed condition has shown.
  Result<void> take(const Item& item, conditional::Event& event);
  Result<void> take_bucket(std::size_t place, const Item& item, conditional::Event& event);
  Result<void> take_failure(const aws::DynamoFailure& failure, conditional::Event& event);

  store::Completion<store::Progress> done_;
  store::Home* const home_ = store::Home::here();
  bool reading_ = false;
  std::vector<Key> sent_keys_;        ///< of the transaction, in its order
  std::vector<std::size_t> sent_to_;  ///< which place each is; places_.size(): the marker
  conditional::Event event_;          ///< while a read takes several answers
};

}  // namespace weir::dynamodb

// Reads the version record, whose settings all processes on a table share. The first process creates it.
#pragma once

#include <atomic>
#include <chrono>

#include "store/dynamodb/context.h"
#include "store/dynamodb/request.h"
#include "store/remote/start_up.h"

namespace weir::dynamodb {

/// Safe to use from any thread.
class StartUp final : public remote::StartUp, private aws::DynamoCall {
 public:
  /// The context must outlive this object, and all calls of its client must have ended before its
  /// destruction.
  explicit StartUp(Context& context);

  /// Whether there may be legacy items in the table, as far as is known. Calls read it again now and then.
  bool may_have_legacy();

 private:
  enum class Step : unsigned char { reading, looking, making };

  void request(std::chrono::milliseconds patience) override;
  void ask(Step step, Request request_of_it);
  void ask_for_record();
  /// Checks whether the table has items, on which the state in the record depends.
  void look();
  void make(bool table_is_new);
  void on_answer(const aws::DynamoAnswer& answer) override;
  void on_error(const aws::DynamoFailure& failure) override;
  Result<void> take(const Item& item);

  Context& context_;
  Step step_ = Step::reading;  ///< of the read under way
  bool made_ = false;          ///< the same
  std::atomic<bool> may_have_legacy_{false};
};

}  // namespace weir::dynamodb

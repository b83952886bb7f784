// Reads the version record: what all processes on a table agree on. The first process makes it, if there is
// none.
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
  /// The context must outlive it, and its client must have ended all calls first.
  explicit StartUp(Context& context);

  /// Whether there may be legacy items in the table, as far as is known. A call has it looked up, now
  /// and then.
  bool may_have_legacy();

 private:
  enum class Step : unsigned char { reading, looking, making };

  void request(std::chrono::milliseconds patience) override;
  void ask(Step step, Request request_of_it);
  void ask_for_record();
  /// Whether anything is in the table decides what the record says.
  void look();
  void make(bool table_is_new);
  void on_answer(const aws::DynamoAnswer& answer) override;
  void on_error(const aws::DynamoFailure& failure) override;
  Result<void> take(const Item& item);

  Context& context_;
  Step step_ = Step::reading;  ///< of the reading that is under way
  bool made_ = false;          ///< the same
  std::atomic<bool> may_have_legacy_{false};
};

}  // namespace weir::dynamodb

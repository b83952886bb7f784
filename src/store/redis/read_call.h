// A plain command and the conversion of its answer, without blocking.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "store/completion.h"
#include "store/redis/call.h"

namespace weir::redis {

/// Destroys itself with its completion.
template <class T>
class ReadCall final : public net::RedisCall {
 public:
  using Take = std::function<Result<T>(const Result<Reply>& reply)>;
  ReadCall(store::Completion<T> done, Take take, bool writes)
      : done_(done), take_(std::move(take)), writes_(writes) {}

 private:
  void on_reply(const Reply& reply) override {
    end(reply.is_error() ? Result<Reply>(error_of(reply.text(), writes_)) : Result<Reply>(reply));
  }
  void on_failure(const net::RedisFailure& failure) override {
    end(Result<Reply>(error_of({failure.sent && writes_, failure.why})));
  }
  void end(const Result<Reply>& reply) {
    Result<T> result = take_(reply);
    const auto done = done_;
    delete this;
    done(std::move(result));
  }

  store::Completion<T> done_;
  Take take_;
  const bool writes_;
};

/// Sends a command to the node of a slot; -1: any. `take` converts the answer to the result.
template <class T>
void read_at(Context& context, int slot, std::string command, store::Completion<T> done,
             typename ReadCall<T>::Take take, bool writes = false) {
  auto* const reading = new ReadCall<T>(done, std::move(take), writes);
  reading->command = std::move(command);
  reading->slot = slot;
  reading->repeatable = !writes;
  reading->within = slow_call;
  context.send(*reading);
}

/// The same; the key selects the node.
template <class T>
void read(Context& context, std::string_view key, std::string command, store::Completion<T> done,
          typename ReadCall<T>::Take take, bool writes = false) {
  const int slot = context.cluster ? static_cast<int>(wire::resp::slot_of(key)) : -1;
  read_at(context, slot, std::move(command), done, std::move(take), writes);
}

}  // namespace weir::redis

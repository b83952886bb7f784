#include "store/redis/call.h"

#include <deque>
#include <optional>

#include "base/text.h"
#include "store/completion.h"
#include "store/redis/read_call.h"

namespace weir::redis {

namespace resp = wire::resp;

namespace {

void append_reply(std::string& out, const Reply& reply) {
  switch (reply.type()) {
    case resp::Type::text:
      return resp::append_word(out, reply.text());
    case resp::Type::error:
      out += base::join("-", reply.text(), "\r\n");
      return;
    case resp::Type::integer:
      out += base::join(":", std::to_string(*reply.integer()), "\r\n");
      return;
    case resp::Type::null:
      out += "$-1\r\n";
      return;
    default:
      break;
  }
  resp::append_command(out, reply.size());
  for (auto child = reply.children(); !child.at_end(); ++child) append_reply(out, *child);
}

/// A call that its owner blocks on.
class WaitingCall final : public ScriptCall {
 public:
  WaitingCall(Context& context, bool writes) : ScriptCall(context) {
    writes_ = writes;
    repeatable = !writes;
    within = slow_call;
  }
  void start(const Script& script, const std::vector<std::string>& keys,
             const std::vector<std::string>& words) {
    begin(script, keys.size(), keys.size() + words.size());
    for (const std::string& one : keys) key(one);
    for (const std::string& one : words) word(one);
    send();
  }
  Result<KeptReply> wait() { return waiting_.wait(); }

 private:
  void replied(const Reply& reply) override { waiting_.completion()(KeptReply(reply)); }
  void failed(Error error) override { waiting_.completion()(std::move(error)); }
  store::BlockingResult<KeptReply> waiting_;
};

}  // namespace

void ScriptCall::begin(const Script& script, std::size_t keys, std::size_t words) {
  script_ = &script;
  keys_ = keys;
  words_ = words;
  slot = -1;
  name_script(context_.without_digests.load(std::memory_order_relaxed), {});
}

void ScriptCall::name_script(bool whole, std::string_view rest) {
  whole_ = whole;
  command.clear();
  // Enough for a plan with two limits in each of two buckets.
  command.reserve(960 + rest.size() + (whole ? script_->body.size() : 0));
  resp::append_command(command, words_ + 3);
  if (whole) {
    resp::append_word(command, std::string_view("EVAL"));
    resp::append_word(command, script_->body);
  } else {
    command += script_->named;
  }
  resp::append_word(command, static_cast<std::int64_t>(keys_));
  rest_at_ = command.size();
  command += rest;
}

void ScriptCall::key(std::string_view key) {
  if (slot < 0 && context_.cluster) slot = static_cast<int>(resp::slot_of(key));
  word(key);
}

/// Read from the command: $LENGTH, then the key.
std::string_view ScriptCall::first_key() const {
  const std::string_view rest = std::string_view(command).substr(rest_at_);
  const std::size_t line = rest.find("\r\n");
  if (keys_ == 0 || line == std::string_view::npos) return {};
  const auto length = base::parse_digits(rest.substr(1, line - 1));
  return rest.substr(line + 2, length ? static_cast<std::size_t>(*length) : 0);
}

void ScriptCall::fail(Error error) {
  maybe_written_ = maybe_written_ || (writes_ && error.code == ErrorCode::outcome_unknown);
  if (maybe_written_ && error.code != ErrorCode::outcome_unknown)
    error = error_of({true, std::move(error.message)});
  failed(std::move(error));
}

void ScriptCall::on_reply(const Reply& reply) {
  maybe_written_ = maybe_written_ || (was_sent_before() && writes_);
  if (!reply.is_error()) {
    if (writes_) context_.write_health.accepted(slot);
    return replied(reply);
  }
  const std::string_view why = reply.text();
  const bool forbidden = why.starts_with("NOPERM") && why.find("evalsha") != std::string_view::npos;
  if (!whole_ && (why.starts_with("NOSCRIPT") || forbidden)) {
    // Nothing was executed, so the call may be sent again.
    if (forbidden) context_.without_digests.store(true, std::memory_order_relaxed);
    const std::string rest = command.substr(rest_at_);
    name_script(true, rest);
    return send();
  }
  if (why.find("WRONGTYPE") != std::string_view::npos && found_wrong_type()) return;
  Error error = error_of(why, writes_);
  if (writes_ && error.code == ErrorCode::unavailable)
    context_.write_health.refused(error, slot, first_key());
  fail(std::move(error));
}

KeptReply::KeptReply(const Reply& reply) {
  append_reply(bytes_, reply);
  static_cast<void>(reader_.read(bytes_));
}

namespace {

Result<KeptReply> keep(const Result<Reply>& reply) {
  if (!reply) return reply.error();
  return KeptReply(*reply);
}

/// Waits for all, and fails with the first that fails.
template <class Calls>
Result<std::vector<KeptReply>> wait_for_all(Calls& calls) {
  std::vector<KeptReply> replies;
  std::optional<Error> failure;
  for (auto& call : calls) {
    auto reply = call.wait();
    if (reply) {
      replies.push_back(*std::move(reply));
    } else if (!failure) {
      failure = reply.error();
    }
  }
  if (failure) return *std::move(failure);
  return replies;
}

}  // namespace

Result<KeptReply> BlockingCalls::ask(std::string_view key, std::string command, bool writes) {
  if (auto may = check_may_wait(context_); !may) return may.error();
  return store::wait_for<KeptReply>([&](store::Completion<KeptReply> done) {
    read<KeptReply>(context_, key, std::move(command), done, keep, writes);
  });
}

Result<KeptReply> BlockingCalls::ask_node(int slot, std::string command) {
  if (auto may = check_may_wait(context_); !may) return may.error();
  return store::wait_for<KeptReply>([&](store::Completion<KeptReply> done) {
    read_at<KeptReply>(context_, slot, std::move(command), done, keep);
  });
}

Result<std::vector<KeptReply>> BlockingCalls::ask_all(
    std::vector<std::pair<std::string, std::string>> commands) {
  if (auto may = check_may_wait(context_); !may) return may.error();
  std::deque<store::BlockingResult<KeptReply>> sent;
  for (auto& [key, command] : commands)
    read<KeptReply>(context_, key, std::move(command), sent.emplace_back().completion(), keep);
  return wait_for_all(sent);
}

Result<KeptReply> BlockingCalls::run(const Script& script, const std::vector<std::string>& keys,
                                     const std::vector<std::string>& words, bool writes) {
  if (auto may = check_may_wait(context_); !may) return may.error();
  WaitingCall call(context_, writes);
  call.start(script, keys, words);
  return call.wait();
}

Result<std::vector<KeptReply>> BlockingCalls::run_all(const Script& script,
                                                      const std::vector<Arguments>& calls, bool writes) {
  if (auto may = check_may_wait(context_); !may) return may.error();
  std::deque<WaitingCall> sent;
  for (const Arguments& call : calls)
    sent.emplace_back(context_, writes).start(script, call.keys, call.words);
  return wait_for_all(sent);
}

Result<void> check_may_wait(const Context& context) {
  if (!context.client.is_here()) return {};
  return base::error(ErrorCode::unavailable,
                     "this cannot be asked inside the completion of another call to Redis; ask on a thread "
                     "of your own");
}

}  // namespace weir::redis

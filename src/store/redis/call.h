// Calls of scripts and plain commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/redis/context.h"
#include "wire/resp.h"

namespace weir::redis {

using wire::resp::Reply;

/// The deadline of calls on the catalog, which may be large.
inline constexpr std::chrono::milliseconds slow_call{5000};

/// A call of a script. The command is EVALSHA, the digest, the number of keys, and the arguments; a server
/// that does not have the script yet gets its whole text.
class ScriptCall : public net::RedisCall {
 public:
  explicit ScriptCall(Context& context) : context_(context) {}

 protected:
  /// Starts a new command. `words`: how many keys and arguments will follow, of which `keys` are keys.
  void begin(const Script& script, std::size_t keys, std::size_t words);
  /// The first key decides which node of a cluster the call goes to.
  void key(std::string_view key);
  void word(std::string_view word) { wire::resp::append_word(command, word); }
  void word(std::int64_t number) { wire::resp::append_word(command, number); }
  virtual void send() { context_.send(*this); }

  /// Called with a reply that is no error.
  virtual void replied(const Reply& reply) = 0;
  virtual void failed(Error error) = 0;
  /// The step that was sent last has failed; failed() follows.
  void fail(Error error);
  /// Whether any step, or an earlier copy of one, may have written although no reply confirms it.
  bool maybe_written() const { return maybe_written_; }
  /// A key has another type than the script expects, and nothing was written. False: that is a failure.
  virtual bool found_wrong_type() { return false; }

  Context& context() const { return context_; }
  bool writes_ = true;

 private:
  void name_script(bool whole, std::string_view rest);
  std::string_view first_key() const;
  void on_reply(const Reply& reply) final;
  void on_failure(const net::RedisFailure& failure) override {
    fail(error_of({maybe_written_ || (failure.sent && writes_), failure.why}));
  }

  Context& context_;
  const Script* script_ = nullptr;
  std::size_t keys_ = 0;
  std::size_t words_ = 0;
  std::size_t rest_at_ = 0;
  bool whole_ = false;
  bool maybe_written_ = false;
};

/// Reads the two words of TIME: seconds and microseconds.
inline Time read_time(Reply::Children& at) {
  const Time seconds = at.next().integer().value_or(0);
  return seconds * 1000 + at.next().integer().value_or(0) / 1000;
}

/// A reply with its own copy of the bytes.
class KeptReply {
 public:
  KeptReply() = default;
  explicit KeptReply(const Reply& reply);
  Reply get() const { return reader_.reply(bytes_.data()); }

 private:
  std::string bytes_;
  wire::resp::ReplyReader reader_;
};

/// For the rare operations that take several steps: sends a command and blocks until the answer. Not for the
/// client's own thread.
class BlockingCalls {
 public:
  explicit BlockingCalls(Context& context) : context_(context) {}
  /// `key` selects the node. Error replies of the server are returned as errors.
  Result<KeptReply> ask(std::string_view key, std::string command, bool writes = false);
  /// The same for a command that reads, on the node of a slot; -1: any node.
  Result<KeptReply> ask_node(int slot, std::string command);
  /// The same for many commands that read, each with its key. Fails with the first that fails.
  Result<std::vector<KeptReply>> ask_all(std::vector<std::pair<std::string, std::string>> commands);
  Result<KeptReply> run(const Script& script, const std::vector<std::string>& keys,
                        const std::vector<std::string>& words, bool writes);
  /// The same for many calls at once. Fails with the first that fails, after all have ended.
  struct Arguments {
    std::vector<std::string> keys;
    std::vector<std::string> words;
  };
  Result<std::vector<KeptReply>> run_all(const Script& script, const std::vector<Arguments>& calls,
                                         bool writes);

 private:
  Context& context_;
};

/// Fails on the client's own thread, where waiting would never end.
Result<void> check_may_wait(const Context& context);

}  // namespace weir::redis

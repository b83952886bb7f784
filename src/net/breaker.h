// Whether a server can be expected to answer, judged by the results of earlier calls.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace weir::net {

/// A circuit breaker: while it is open, calls are not worth sending. Its owner probes the server, and one
/// answer closes the breaker. It has neither a clock nor a lock.
class Breaker {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  struct Options {
    int failures = 1;                      ///< this many calls in a row without an answer open it
    std::chrono::milliseconds silence{0};  ///< and only if the server has sent nothing for this long
  };
  /// `trouble`: the error to report until the first answer.
  explicit Breaker(Options options, std::string trouble = {})
      : options_(options), trouble_(std::move(trouble)) {}

  bool open() const { return open_; }
  /// Why it is open, or the last error; empty after an answer.
  const std::string& trouble() const { return trouble_; }
  std::chrono::nanoseconds silent_for(Moment now) const { return now - heard_at_; }

  /// The server has sent something, or a call to an idle server was sent: the silence starts again.
  void break_silence(Moment now) { heard_at_ = now; }
  /// A call was answered. True if that closed the breaker.
  bool answered() {
    failures_ = 0;
    trouble_.clear();
    return std::exchange(open_, false);
  }
  /// A call brought no answer. True if that opened the breaker.
  bool unanswered(Moment now, std::string why) {
    ++failures_;
    if (!open_ && (failures_ < options_.failures || silent_for(now) < options_.silence)) return false;
    trouble_ = std::move(why);
    return !std::exchange(open_, true);
  }
  /// Records an error that may be temporary, without opening the breaker.
  void blame(std::string why) { trouble_ = std::move(why); }
  /// The server cannot answer, whatever the results of calls. True if that opened the breaker.
  bool trip() { return !std::exchange(open_, true); }

 private:
  const Options options_;
  int failures_ = 0;  ///< in a row
  bool open_ = false;
  std::string trouble_;
  Moment heard_at_{};
};

}  // namespace weir::net

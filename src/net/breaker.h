// Whether a server can be expected to answer, judged by what became of the calls before.
#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace weir::net {

/// A circuit breaker: while it is open, calls are not worth sending. Its owner asks the server by itself
/// whether it is back, and one answer closes it. Without a clock and a lock of its own.
class Breaker {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  struct Options {
    int failures = 1;                      ///< so many calls in a row without an answer open it
    std::chrono::milliseconds silence{0};  ///< if the server has said nothing for so long
  };
  /// `trouble`: what is wrong until the first answer.
  explicit Breaker(Options options, std::string trouble = {})
      : options_(options), trouble_(std::move(trouble)) {}

  bool open() const { return open_; }
  /// Why it is open, or what went wrong last; empty after an answer.
  const std::string& trouble() const { return trouble_; }
  std::chrono::nanoseconds silent_for(Moment now) const { return now - heard_at_; }

  /// The server has sent something, or only now has something to answer: the silence begins anew.
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
  /// Something is wrong that need not last.
  void blame(std::string why) { trouble_ = std::move(why); }
  /// The server cannot answer, whatever became of the calls. True if that opened the breaker.
  bool trip() { return !std::exchange(open_, true); }

 private:
  const Options options_;
  int failures_ = 0;  ///< in a row
  bool open_ = false;
  std::string trouble_;
  Moment heard_at_{};
};

}  // namespace weir::net

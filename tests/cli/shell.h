// Runs commands in this process, on a store in memory and a clock that stands still.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"
#include "weir/weir.h"

namespace weir::cli {

/// "limits set --entity 'a b'" as words.
inline std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  bool inside = false, quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
      if (!inside) words.emplace_back();
      inside = true;
    } else if (c == ' ' && !quoted) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      words.back() += c;
    }
  }
  return words;
}

class Shell {
 public:
  Shell()
      : limiter(
            std::make_shared<Limiter>(*Limiter::open("memory:", {.clock = &clock, .principal = "tester"}))) {}

  /// Runs `weir LINE`; what it printed is in `out` and `err`.
  int run(const std::string& line) {
    std::ostringstream out_stream, err_stream;
    std::istringstream in_stream(in);
    World world{.in = in_stream,
                .out = out_stream,
                .err = err_stream,
                .out_is_terminal = terminal,
                .err_is_terminal = terminal,
                .environment =
                    [this](const char* name) {
                      const auto found = environment.find(name);
                      return found == environment.end() ? std::nullopt : std::optional(found->second);
                    },
                .clock = clock,
                .login = "tester",
                .open =
                    [this](std::string_view opened, const Options& given) {
                      url = opened;
                      options = given;
                      if (opener) return opener(given);
                      return unavailable.empty() ? Result(limiter)
                                                 : Result<std::shared_ptr<Limiter>>(
                                                       Error{ErrorCode::unavailable, unavailable});
                    },
                .check = [this](std::string_view, const Options&) { return Result(findings); },
                .wait = [this](std::chrono::milliseconds time) { return wait && wait(time); }};
    const int ended = cli::run(words_of(line), world);
    out = out_stream.str();
    err = err_stream.str();
    return ended;
  }

  FakeClock clock;
  std::shared_ptr<Limiter> limiter;
  std::map<std::string, std::string> environment;
  std::vector<app::Finding> findings;
  bool terminal = false;
  /// Opens another limiter than the one above.
  std::function<Result<std::shared_ptr<Limiter>>(const Options& options)> opener;
  /// Between two looks of a command that goes on; false: the user ends it.
  std::function<bool(std::chrono::milliseconds time)> wait;
  std::string unavailable;  ///< why the store cannot be opened; empty: it can
  std::string in, out, err;
  std::string url;  ///< that was opened last, and with what
  Options options;
};

}  // namespace weir::cli

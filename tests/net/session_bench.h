// What the tests of sessions share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "session_handler.h"
#include "session_samples.h"

namespace weir::net {

using Stream = std::vector<const Sample*>;

inline std::string bytes_of(const Stream& stream) {
  std::string bytes;
  for (const Sample* sample : stream) bytes += sample->bytes;
  return bytes;
}

inline std::string name_of(const Stream& stream) {
  std::string name;
  for (const Sample* sample : stream) name.append(name.empty() ? "" : ", ").append(sample->name);
  return name;
}

/// 100 depends on whether the body came together with its head.
inline std::string without_continue(std::string text) {
  constexpr std::string_view told_to_continue = "HTTP/1.1 100 Continue\r\n\r\n";
  for (std::size_t at = 0; (at = text.find(told_to_continue, at)) != std::string::npos;) {
    text.erase(at, told_to_continue.size());
  }
  return text;
}

inline void answer_held(SessionHandler& handler, SessionDriver& client) {
  while (handler.held() != 0) {
    handler.release_one();
    client.run();
  }
}

/// A worker and its handler, for one session after the other.
struct Bench {
  explicit Bench(unsigned max_pipelined) : worker(sample_options(max_pipelined), handler) {
    handler.worker = &worker;
  }
  void start(When when) {
    handler.set_when(when);
    handler.seen.clear();
    handler.gone.clear();
  }
  /// The session has ended: nothing is left of it.
  void expect_nothing_held() {
    EXPECT_EQ(worker.states_in_use(), 0U);
    EXPECT_EQ(worker.buffers_in_use(), 0U);
    EXPECT_EQ(handler.streams(), 0U);
  }
  SessionHandler handler;
  IdleWorker worker;
};

}  // namespace weir::net

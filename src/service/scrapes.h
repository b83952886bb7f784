// GET /metrics, away from the threads that decide: with many resources a scrape takes as long as a thousand
// decisions.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "service/calls.h"

namespace weir::service {

/// Safe to use from any thread.
class Scrapes {
 public:
  explicit Scrapes(const telemetry::Metrics& metrics) : metrics_(metrics) {}
  /// Every scrape must have been answered.
  ~Scrapes();
  Scrapes(const Scrapes&) = delete;
  Scrapes& operator=(const Scrapes&) = delete;

  /// Answers on a thread of its own, which the first call starts.
  void answer(Answering answering);

 private:
  void run();

  const telemetry::Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<Answering> waiting_;
  std::thread thread_;
};

}  // namespace weir::service

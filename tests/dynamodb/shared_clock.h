// A clock that several processes share, that moves only when the test moves it, and that tells them when it
// is over.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "weir/clock.h"

namespace weir::tests {

/// Safe to use from any thread, of any process that has the same file open.
class SharedClock final : public Clock {
 public:
  explicit SharedClock(const std::string& file) {
    const int opened = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (opened < 0 || ::ftruncate(opened, sizeof(Words)) != 0)
      throw std::runtime_error("no clock in " + file);
    void* const mapped = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    ::close(opened);
    if (mapped == MAP_FAILED) throw std::runtime_error("no clock in " + file);
    words_ = static_cast<Words*>(mapped);
  }
  ~SharedClock() override { ::munmap(words_, sizeof(Words)); }
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;

  Time now() const override { return std::atomic_ref(words_->now).load(); }
  void set(Time now) { std::atomic_ref(words_->now).store(now); }
  bool over() const { return std::atomic_ref(words_->over).load() != 0; }
  void end() { std::atomic_ref(words_->over).store(1); }

 private:
  /// In the file.
  struct Words {
    Time now;
    std::int64_t over;
  };
  Words* words_;
};

}  // namespace weir::tests

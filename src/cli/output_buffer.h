// Standard output that remembers why it failed.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <streambuf>

namespace weir::cli {

/// Writes to a file descriptor. After a failure all further output is dropped, and problem() returns the
/// error.
class OutputBuffer : public std::streambuf {
 public:
  explicit OutputBuffer(int descriptor) : descriptor_(descriptor) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;
  ~OutputBuffer() override { flush(); }

  /// The errno; 0: none.
  int problem() const { return problem_; }

 protected:
  int_type overflow(int_type next) override {
    flush();
    if (!traits_type::eq_int_type(next, traits_type::eof())) sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
  }
  int sync() override {
    flush();
    return problem_ == 0 ? 0 : -1;
  }

 private:
  void flush() {
    const char* from = pbase();
    while (from != pptr() && problem_ == 0) {
      const auto written = ::write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
      if (written >= 0) {
        from += written;
      } else if (errno != EINTR) {
        problem_ = errno;
      }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }

  int descriptor_;
  int problem_ = 0;
  std::array<char, 1U << 14> bytes_;
};

}  // namespace weir::cli

// Randomness is passed in, like time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::base {

/// A source of random bytes. Implementations must be safe to call from any thread.
class Entropy {
 public:
  virtual ~Entropy() = default;
  virtual void fill(std::span<std::byte> bytes) = 0;

  std::uint64_t next() {
    std::uint64_t number = 0;
    fill(std::as_writable_bytes(std::span(&number, 1)));
    return number;
  }
};

/// The operating system's random bytes, fit for keys.
class SystemEntropy final : public Entropy {
 public:
  void fill(std::span<std::byte> bytes) override;
};

}  // namespace weir::base

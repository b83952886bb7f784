// The estimate of a call before it is made, learned from calls that have ended.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::llm {

struct Estimate {
  std::int64_t input = 0;   ///< tokens, at least 1
  std::int64_t output = 0;  ///< the same
};

/// Learns how many tokens a byte of a request has, and how many tokens an answer, for each key (an entity and
/// a model). A table of fixed size: the older of two keys that meet in one place is forgotten. Not safe to
/// use from several threads at once.
class Estimates {
 public:
  Estimates();
  /// `narrow`: the key of the entity and the model; `wide`: that of the model, for a new entity.
  Estimate of(std::uint64_t narrow, std::uint64_t wide, std::size_t body_bytes) const;
  /// After a call whose usage is known.
  void learn(std::uint64_t narrow, std::uint64_t wide, std::size_t body_bytes, const Estimate& used);

 private:
  struct Entry {
    std::uint64_t key = 0;       ///< 0: none
    std::uint32_t per_byte = 0;  ///< tokens, in 65536ths
    std::uint32_t output = 0;    ///< tokens, in eighths
  };
  static constexpr std::size_t places = 4096;
  const Entry* find(std::uint64_t key) const;
  void learn(std::uint64_t key, std::size_t body_bytes, const Estimate& used);
  std::vector<Entry> table_;
};

}  // namespace weir::llm

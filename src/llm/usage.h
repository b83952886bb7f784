// The usage that a vendor reports, in figures that are disjoint for every vendor.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "llm/endpoint.h"
#include "wire/json_reader.h"

namespace weir::llm {

/// More tokens than any call can have; a larger figure is read as this one.
inline constexpr std::int64_t most_tokens = 1'000'000'000;

/// Tokens of one call. No token is counted twice, whatever the fields of the vendor mean.
struct Usage {
  std::int64_t input = 0;         ///< neither read from nor written to a cache
  std::int64_t cached_input = 0;  ///< read from the vendor's cache
  std::int64_t cache_write = 0;   ///< written to it
  std::int64_t output = 0;        ///< without reasoning
  std::int64_t reasoning = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

/// The figures as the vendor sent them. A stream may send them several times: the largest counts, since they
/// are totals that only grow.
class ReportedUsage {
 public:
  /// Reads the value of "usage" or "usageMetadata". A figure that is no whole number from 0 on is ignored.
  /// False if the value is no object or is malformed.
  bool read(wire::json::Reader& reader);
  bool has_input() const { return has_input_; }
  bool has_output() const { return has_output_; }
  Usage disjoint(Api api) const;

 private:
  bool read_details(wire::json::Reader& reader, std::string_view details);
  void note(std::string_view name, std::string_view details, std::string_view number);

  std::int64_t input_ = 0;
  std::int64_t tool_input_ = 0;
  std::int64_t cached_ = 0;
  std::int64_t written_ = 0;
  std::int64_t output_ = 0;
  std::int64_t reasoning_ = 0;
  bool has_input_ = false;
  bool has_output_ = false;
};

/// The member of an answer that has its usage.
std::string_view usage_member(Api api);

}  // namespace weir::llm

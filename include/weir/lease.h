// A lease: an admitted charge that can still be adjusted, settled or rolled back.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "weir/amount.h"
#include "weir/clock.h"
#include "weir/detail/export.h"
#include "weir/detail/inline_vector.h"
#include "weir/report.h"
#include "weir/result.h"

namespace weir {

namespace detail {

enum class Ending : unsigned char { open, settled, rolled_back };

/// What was charged where: enough to change the charge later. Plain data, filled by the store.
struct LeaseData {
  struct Bucket {
    std::uint16_t entity_at;
    std::uint16_t entity_size;
    std::uint64_t generation;
  };
  struct Amount {
    std::int64_t millitokens;  ///< net of all changes made through this object
    std::uint16_t name_at;
    std::uint8_t name_size;
    std::uint8_t buckets;  ///< bit i: charged in the i-th bucket
  };
  InlineVector<Bucket, 2> buckets;
  InlineVector<Amount, 4> amounts;
  InlineVector<char, 96> text;  // resource, entities, names of limits
  std::uint16_t resource_size = 0;
  Time deadline = 0;
  std::array<std::uint64_t, 2> nonce{};  ///< zero until an id or a marker is needed
  bool shared = false;                   ///< an id was handed out: others may change the lease too
  Ending ending = Ending::open;          ///< while it is not shared

  std::string_view text_at(std::size_t at, std::size_t size) const { return {text.data() + at, size}; }
  std::string_view resource() const { return text_at(0, resource_size); }
  std::string_view entity(std::size_t i) const { return text_at(buckets[i].entity_at, buckets[i].entity_size); }
  std::string_view name(const Amount& amount) const { return text_at(amount.name_at, amount.name_size); }
};

enum class LeaseVerb : unsigned char { adjust, settle, rollback };

/// Who carries out the changes of a lease; a Limiter does.
class LeaseKeeper {
 public:
  virtual Result<LimitReport> change(LeaseData& lease, LeaseVerb verb, std::span<const Charge> charges) = 0;
  virtual Result<std::string> make_id(LeaseData& lease) = 0;

 protected:
  ~LeaseKeeper() = default;
};

}  // namespace detail

/// An admitted charge. Move-only; must not outlive its Limiter; not safe to use from several threads at
/// once. Dropping a lease lets its charge stand; leaving scope by an exception rolls it back. A lease
/// that is never settled keeps its charge, and after its deadline nothing can change it any more.
class WEIR_API Lease {
 public:
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// Charges more (positive) or gives back (negative), at once. May take a balance into debt; refuses to
  /// give back more than the lease holds. On failure nothing has changed, unless the code is
  /// outcome_unknown.
  Result<LimitReport> adjust(std::initializer_list<Charge> differences) { return adjust(as_span(differences)); }
  Result<LimitReport> adjust(std::span<const Charge> differences);

  /// States what was really used and ends the lease. Limits that are left out keep their charge. Settling
  /// again with the same amounts changes nothing; with others it fails with conflict.
  Result<LimitReport> settle(std::initializer_list<Charge> actual) { return settle(as_span(actual)); }
  Result<LimitReport> settle(std::span<const Charge> actual);

  /// Gives everything back and ends the lease.
  Result<LimitReport> rollback();

  /// The text by which any process on the same store can adjust, settle or roll back this lease. It is
  /// made on the first call, cannot be forged, and stays the same.
  Result<std::string> id();

  /// Whether the lease can still be changed through this object.
  bool open() const { return keeper_ != nullptr && !ended_; }
  Time deadline() const { return data_.deadline; }

 private:
  friend class Decision;
  Lease() = default;

  static std::span<const Charge> as_span(std::initializer_list<Charge> list) { return {list.begin(), list.size()}; }
  Result<LimitReport> change(detail::LeaseVerb verb, std::span<const Charge> charges);
  void abandon() noexcept;

  detail::LeaseKeeper* keeper_ = nullptr;
  int exceptions_ = 0;  // in flight when the lease began: one more on the way out means that it failed
  bool ended_ = false;
  detail::LeaseData data_;
};

}  // namespace weir

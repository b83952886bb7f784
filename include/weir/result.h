// Errors are values. A refusal is not an error: it is a Decision (decision.h). An Error is a mistake in
// the call, something that does not exist, or a store that could not answer.
#pragma once

#include <concepts>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "weir/detail/export.h"

namespace weir {

/// The kind of an error, by which a program chooses what to do.
enum class ErrorCode {
  invalid_argument,  ///< the call is malformed: a bad name, a negative amount. Change the call.
  unknown_limit,     ///< the call names a limit that no bucket has. Change the call or the limits.
  no_limits,         ///< no level has limits for this entity and resource. Configure some.
  not_found,         ///< no such limits, entity or lease.
  conflict,  ///< the change contradicts what is stored: a cycle of parents, a lease that ended otherwise.
  operator_owned,   ///< a sync write met limits that an operator owns. Do not retry.
  expired,          ///< the lease is past its deadline and cannot be changed.
  exhausted,        ///< an adjust that must not leave a debt met too low a balance. Nothing was charged.
  unavailable,      ///< the store cannot decide now. Nothing was charged. A retry may help later.
  contention,       ///< other writers changed the same bucket. Nothing was charged. Try again.
  outcome_unknown,  ///< the store may or may not have applied the write. Do not send it again without a key.
};

/// The stable name of a code, as used in messages and in the HTTP API: "unknown-limit".
WEIR_API const char* name_of(ErrorCode code);

/// An error: its kind, and a sentence that names the cause and the remedy.
struct Error {
  ErrorCode code;
  std::string message;
};

/// @cond
namespace detail {
/// Prints the error and ends the program.
[[noreturn]] WEIR_API void value_of_error(const Error& error);
/// Ends the program: error() was called on a success.
[[noreturn]] WEIR_API void error_of_value();
}  // namespace detail
/// @endcond

/// Either a value or an Error. Test it before use: `if (!result) return result.error();`. Taking the value of
/// an error prints the error and ends the program, in every kind of build: a limiter must not fail open.
template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved where T allows it
  Result(T value) : ok_(true), value_(std::move(value)) {}
  Result(Error error) : ok_(false), error_(std::move(error)) {}
  /// Builds the value in place; for values that are large to move.
  template <class... Args>
  explicit Result(std::in_place_t, Args&&... args) : ok_(true), value_(std::forward<Args>(args)...) {}

  Result(const Result& other)
    requires std::copy_constructible<T>
      : ok_(other.ok_) {
    construct(other);
  }
  Result(Result&& other) noexcept : ok_(other.ok_) { construct(std::move(other)); }
  Result& operator=(const Result& other)
    requires std::copy_constructible<T>
  {
    if (this != &other) *this = Result(other);
    return *this;
  }
  Result& operator=(Result&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    ok_ = other.ok_;
    construct(std::move(other));
    return *this;
  }
  ~Result() { destroy(); }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  /// The value. Requires ok().
  T& value() & { return check(), value_; }
  const T& value() const& { return check(), value_; }
  T&& value() && { return check(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error. Requires !ok().
  const Error& error() const {
    if (ok_) [[unlikely]]
      detail::error_of_value();
    return error_;
  }

 private:
  void check() const {
    if (!ok_) [[unlikely]]
      detail::value_of_error(error_);
  }
  template <class Other>
  void construct(Other&& other) {
    if (ok_) {
      new (&value_) T(std::forward<Other>(other).value_);
    } else {
      new (&error_) Error(std::forward<Other>(other).error_);
    }
  }
  void destroy() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    if (!error_) [[unlikely]]
      detail::error_of_value();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace weir

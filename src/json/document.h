// Reads untrusted JSON: the requests of callers to the service, and its answers to a client. A layer over
// wire/json_reader.h that knows the types of weir and reports mistakes with the member's name.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/maxima.h"
#include "json/parsed.h"
#include "weir/amount.h"
#include "weir/limit.h"
#include "wire/json_reader.h"

namespace weir::json {

/// The reader, positioned at a value.
using Value = wire::json::Reader;

/// The most members that an object may have.
inline constexpr std::size_t most_members = maxima::json_members;

/// Reads one document, from its beginning to its end. The first mistake wins; after it nothing more is read.
class Document {
 public:
  /// `called`: the name of the text in messages: "the body". The text must outlive the document.
  explicit Document(std::string_view json, std::string_view called = "the body")
      : called_(called), reader_(json) {}
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  using Visit = std::function<void(std::string_view key, Value& value)>;
  using VisitElement = std::function<void(Value& value)>;

  /// The members of the whole document, which must be an object and nothing else. Members that `visit` does
  /// not read are skipped.
  void members(const Visit& visit);
  void members(Value& value, std::string_view of, const Visit& visit);
  /// The elements of an array, at most `most` of them.
  void elements(Value& value, std::string_view of, std::size_t most, const VisitElement& visit);

  std::string text(Value& value, std::string_view of);
  bool flag(Value& value, std::string_view of);
  std::int64_t integer(Value& value, std::string_view of);
  bool is_null(Value& value);
  /// Parsed from the decimal text, so that thousandths stay exact.
  Amount amount(Value& value, std::string_view of);
  /// The same for a sum, which may be larger than any limit.
  Amount sum(Value& value, std::string_view of);
  Limit limit(Value& value, std::string_view name);
  /// `{"rpm":"100/min","tpm":{...}}`.
  std::vector<NamedLimit> limits(Value& value, std::string_view of);
  /// The same, as the whole document.
  std::vector<NamedLimit> limits();
  /// An object as written; its content need only be well-formed.
  std::string raw(Value& value, std::string_view of);

  void malform(std::string message) {
    if (!failed()) malformed_ = std::move(message);
  }
  void invalidate(std::string message) {
    if (!failed()) invalid_ = std::move(message);
  }
  void unknown(std::string_view key, std::span<const std::string_view> known);
  bool failed() const { return !malformed_.empty() || !invalid_.empty(); }
  template <class T>
  Parsed<T> result(T value) {
    return {std::move(value), std::move(malformed_), std::move(invalid_)};
  }

 private:
  void add_limit(std::vector<NamedLimit>& limits, std::string_view name, Value& value);
  void not_json();
  void visit_members(Value& value, std::string_view of, const Visit& visit);
  std::string number_token(Value& value, std::string_view of);
  std::string long_form(Value& value, std::string_view name);

  std::string called_;
  Value reader_;
  std::string malformed_;
  std::string invalid_;
};

}  // namespace weir::json

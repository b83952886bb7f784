// Reading JSON from outside: what callers send to the service, and what the service answers a client.
//
// simdjson is slow to compile: only the files that read documents include this.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/parsed.h"
#include "weir/amount.h"
#include "weir/limit.h"

namespace weir::json {

namespace ondemand = simdjson::ondemand;

/// The most members that an object may have.
inline constexpr std::size_t most_members = 256;

/// What reading takes. Both keep their memory.
struct Reading {
  ondemand::parser parser;
  std::string padded;  ///< the document, with the room behind it that the parser may look at
};

/// Reads one document, from its beginning to its end. The first mistake wins; after it nothing more is read.
/// One at a time on each thread.
class Document {
 public:
  /// `called`: what the text is, in messages: "the body".
  explicit Document(std::string_view json, std::string_view called = "the body");
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  using Visit = std::function<void(std::string_view key, ondemand::value& value)>;
  using VisitElement = std::function<void(ondemand::value& value)>;

  /// The members of the whole document, which must be an object and nothing else. Members that `visit` leaves
  /// alone are passed over.
  void members(const Visit& visit);
  void members(ondemand::value& value, std::string_view of, const Visit& visit);
  /// The elements of an array, at most `most` of them.
  void elements(ondemand::value& value, std::string_view of, std::size_t most, const VisitElement& visit);

  std::string text(ondemand::value& value, std::string_view of);
  bool flag(ondemand::value& value, std::string_view of);
  std::int64_t integer(ondemand::value& value, std::string_view of);
  bool is_null(ondemand::value& value);
  /// Numbers are taken as they are written, so that thousandths stay exact.
  Amount amount(ondemand::value& value, std::string_view of);
  Limit limit(ondemand::value& value, std::string_view name);
  /// `{"rpm":"100/min","tpm":{...}}`.
  std::vector<NamedLimit> limits(ondemand::value& value, std::string_view of);
  /// The same, as the whole document.
  std::vector<NamedLimit> limits();
  /// An object as it is written; its inside is not looked at.
  std::string raw(ondemand::value& value, std::string_view of);

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
  void add_limit(std::vector<NamedLimit>& limits, std::string_view name, ondemand::value& value);
  void not_json();
  void visit_members(ondemand::object& object, std::string_view of, const Visit& visit);
  std::string_view number_token(ondemand::value& value, std::string_view of);
  std::string long_form(ondemand::value& value, std::string_view name);

  std::string called_;
  std::optional<Reading> own_;  // of a large document, whose memory is not kept
  ondemand::document document_;
  std::string malformed_;
  std::string invalid_;
};

}  // namespace weir::json

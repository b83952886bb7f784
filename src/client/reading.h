// The shared parts of the parsers of answers.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/maxima.h"
#include "base/text.h"
#include "json/document.h"
#include "weir/catalog.h"
#include "weir/report.h"
#include "weir/result.h"

namespace weir::client {

/// One answer.
class Answer : public json::Document {
 public:
  explicit Answer(std::string_view json) : Document(json, "the answer") {}

  /// A page has at most as many elements as the service returns.
  static constexpr std::size_t most_elements = maxima::answer_elements;

  /// The value, or an error if the answer could not be parsed: service and client are incompatible.
  template <class T>
  Result<T> finish(T&& value) {
    if (!failed()) return std::forward<T>(value);
    auto wrong = result(0);
    return base::error(ErrorCode::unavailable, "the service's answer cannot be read: ", wrong.malformed,
                       wrong.invalid, "; is it weir, and of the same version?");
  }

  Source source(json::Value& value, std::string_view of) {
    const std::string name = text(value, of);
    for (const Source source : {Source::entity, Source::entity_default, Source::plan, Source::resource,
                                Source::system, Source::request}) {
      if (name == name_of(source)) return source;
    }
    malform(base::join(base::quoted(name), " is no level"));
    return Source::system;
  }
  Mode mode(json::Value& value, std::string_view of) {
    const auto mode = parse_mode(text(value, of));
    if (!mode) malform(mode.error().message);
    return mode ? *mode : Mode::enforce;
  }
  Kind kind(json::Value& value, std::string_view of) {
    const auto kind = parse_kind(text(value, of));
    if (!kind) malform(kind.error().message);
    return kind ? *kind : Kind::rate;
  }
  Owner owner(json::Value& value, std::string_view of) {
    const std::string name = text(value, of);
    if (name != name_of(Owner::operator_) && name != name_of(Owner::sync))
      malform(base::join(base::quoted(name), " owns no limits"));
    return name == name_of(Owner::sync) ? Owner::sync : Owner::operator_;
  }
  /// A number that is not negative.
  std::int64_t count(json::Value& value, std::string_view of) {
    const std::int64_t number = integer(value, of);
    if (number < 0) malform(base::join(base::quoted(of), " must not be negative"));
    return number;
  }
};

/// The limits of a decision: an array of L, as docs/openapi.yaml has them.
LimitReport read_limits(Answer& answer, json::Value& value, std::string_view of);
/// A wait; nothing for null.
std::optional<std::int64_t> read_wait(Answer& answer, json::Value& value, std::string_view of);

/// Reads `{"NAME":[...],"next"?}`. `item` reads one element.
template <class T, class ReadItem>
Result<Page<T>> read_page(std::string_view json, std::string_view name, ReadItem&& item) {
  Answer answer(json);
  Page<T> page;
  bool found = false;
  answer.members([&](std::string_view key, json::Value& value) {
    if (key == name) {
      found = true;
      answer.elements(value, key, Answer::most_elements,
                      [&](json::Value& one) { page.items.push_back(item(answer, one)); });
    } else if (key == "next") {
      page.next = answer.text(value, key);
    }
  });
  if (!found) answer.malform(base::join(base::quoted(name), " is missing"));
  return answer.finish(std::move(page));
}

}  // namespace weir::client

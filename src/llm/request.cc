#include "llm/request.h"

#include <algorithm>

#include "base/text.h"
#include "llm/usage.h"
#include "wire/json_reader.h"

namespace weir::llm {
namespace {

using wire::json::Reader;

class BodyReader {
 public:
  BodyReader(const Endpoint& endpoint, std::string_view body, CallRequest& out)
      : endpoint_(endpoint), reader_(body), size_(body.size()), out_(out) {}

  std::optional<Unreadable> read(bool whole) {
    whole_ = whole;
    if (reader_.peek() != Reader::Kind::object) return Unreadable{"the body is not a JSON object"};
    std::string name;
    for (reader_.object(); reader_.member(name);) {
      const Deciding found = deciding(endpoint_.api, Within::body, name);
      if (const auto problem = out_.seen.note(found)) return problem;
      read_member(found.member);
      if (problem_) return problem_;
    }
    if (whole && !reader_.end()) return no_json;
    if (limit_ >= 0)
      out_.max_output = std::min(limit_ * std::clamp<std::int64_t>(choices_, 1, 128), most_tokens);
    return std::nullopt;
  }

 private:
  void read_member(Member member) {
    switch (member) {
      case Member::model:
        if (endpoint_.model.empty() && reader_.peek() == Reader::Kind::string) {
          reader_.string(out_.model);
          // The text ends in the part of the body that is not here.
          if (reader_.failed()) out_.model.clear();
          return;
        }
        break;
      case Member::limit:
      case Member::other_limit:
        return read_number(limit_);
      case Member::choices:
        return read_number(choices_);
      case Member::stream:
        return read_switch(out_.streams, "stream is neither true nor false; send one of them");
      case Member::background:
        return read_background();
      case Member::options:
        return endpoint_.api == Api::gemini ? read_config() : read_options();
      case Member::wish:
      case Member::none:
        break;
    }
    reader_.skip();
  }

  /// A vendor may read another value, such as 1, as true. Null is as if the member were not there.
  void read_switch(bool& into, std::string_view why_not) {
    const Reader::Kind kind = reader_.peek();
    if (kind == Reader::Kind::boolean) {
      reader_.boolean(into);
      return;
    }
    // None: the value is in the part of the body that is not here.
    if (kind != Reader::Kind::null && kind != Reader::Kind::none) problem_ = Unreadable{why_not};
    reader_.skip();
  }

  void read_background() {
    bool on = reader_.peek() == Reader::Kind::none;
    read_switch(on, "background is neither true nor false; leave it out");
    // A value that is not here, or not all of it, may be true.
    if (on || reader_.failed())
      problem_ = Unreadable{"a call in the background does not say what it used; leave out background"};
  }

  /// The largest; one that is no whole number is left to the vendor, and one that may go on in the part of
  /// the body that is not here is not known.
  void read_number(std::int64_t& into) {
    std::string_view number;
    if (reader_.peek() != Reader::Kind::number) {
      reader_.skip();
    } else if (reader_.number(number) && (whole_ || reader_.at() < size_)) {
      const auto value = number.size() > 18 ? std::optional(most_tokens) : base::parse_digits(number);
      into = std::max(into, std::min(value.value_or(-1), most_tokens));
    }
  }

  Member member_of_options(std::string_view name) {
    const Deciding found = deciding(endpoint_.api, Within::options, name);
    if (found.other_case) problem_ = in_other_case;
    return found.member;
  }

  void read_options() {
    const bool object = reader_.peek() == Reader::Kind::object;
    const std::size_t begin = reader_.at();
    std::string name;
    if (!object) reader_.skip();
    for (object&& reader_.object(); object && reader_.member(name);) {
      if (member_of_options(name) == Member::wish && reader_.peek() == Reader::Kind::boolean) {
        reader_.boolean(out_.asks_for_usage);
      } else {
        reader_.skip();
      }
    }
    out_.options_at = begin;
    out_.options_size = reader_.at() - begin;
  }

  void read_config() {
    if (reader_.peek() != Reader::Kind::object) {
      reader_.skip();
      return;
    }
    std::string name;
    for (reader_.object(); reader_.member(name);) {
      const Member member = member_of_options(name);
      if (member == Member::limit) {
        read_number(limit_);
      } else if (member == Member::choices) {
        read_number(choices_);
      } else {
        reader_.skip();
      }
    }
  }

  const Endpoint& endpoint_;
  Reader reader_;
  const std::size_t size_;
  bool whole_ = true;
  std::optional<Unreadable> problem_;
  CallRequest& out_;
  std::int64_t limit_ = -1;
  std::int64_t choices_ = 1;
};

}  // namespace

std::optional<Unreadable> read_request(const Endpoint& endpoint, std::string_view body, bool whole,
                                       CallRequest& request) {
  request = {};
  request.model = endpoint.model;
  request.streams = endpoint.streams;
  return BodyReader(endpoint, body, request).read(whole);
}

void ask_for_usage(std::string& body, const CallRequest& request) {
  constexpr std::string_view wish = R"("include_usage":true)";
  if (request.options_size != 0 && body[request.options_at] != '{') {
    body.replace(request.options_at, request.options_size, base::join("{", wish, "}"));
    return;
  }
  if (request.options_size != 0) {
    // The last of two members of a name counts; so this one comes last, where others may stand before it.
    const std::size_t close = request.options_at + request.options_size - 1;
    const bool empty = body.find_first_not_of(" \t\r\n", request.options_at + 1) == close;
    body.insert(close, empty ? std::string(wish) : base::join(",", wish));
    return;
  }
  const std::size_t open = body.find('{');
  const bool empty = body[body.find_first_not_of(" \t\r\n", open + 1)] == '}';
  body.insert(open + 1, base::join(R"("stream_options":{)", wish, empty ? "}" : "},"));
}

}  // namespace weir::llm

// Responses, as a proxy or a client reads them.
#pragma once

#include <string_view>

#include "wire/http_head.h"
#include "wire/http_message.h"

namespace weir::wire::http {

/// The head of a response. Its views point into the parsed buffer and are valid as long as it.
class ResponseHead {
 public:
  int status() const { return status_; }
  std::string_view reason() const { return view(reason_); }
  Version version() const { return version_; }
  const Fields& fields() const { return fields_; }
  /// The framing of the body that follows, given the method of the request.
  Framing body() const { return body_; }
  /// Content-Length as it was given, even where no body follows (HEAD, 304).
  std::optional<std::uint64_t> length() const { return length_; }
  /// Whether the connection may carry another request once the body has been read.
  bool keep_alive() const { return keep_alive_; }
  /// 1xx other than 101: the final response is still to come.
  bool interim() const { return status_ < 200 && status_ != 101; }

  /// The parsed bytes have moved to this address.
  void rebase(const char* base) {
    base_ = base;
    fields_.rebase(base);
  }

 private:
  friend class ResponseParser;
  std::string_view view(Slice slice) const { return {base_ + slice.offset, slice.length}; }

  const char* base_ = "";
  Slice reason_;
  Fields fields_;
  Framing body_;
  std::optional<std::uint64_t> length_;
  int status_ = 0;
  Version version_ = Version::http_1_1;
  bool keep_alive_ = false;
};

/// Reads the head of one response. Not safe for use by several threads at once.
class ResponseParser {
 public:
  explicit ResponseParser(const Limits& limits) : reader_(limits, /*skips_blank=*/false) {}

  /// As RequestParser::parse(). `request` is the method of the request that this answers: a response to HEAD
  /// has no body, whatever its fields say.
  Progress parse(std::string_view bytes, Method request, ResponseHead& head);
  std::size_t size() const { return reader_.position(); }
  const Refusal& refusal() const { return refusal_; }
  void clear();

 private:
  Progress fail(std::string_view reason);
  bool start_line(std::string_view line, ResponseHead& head);
  bool field(std::string_view line, ResponseHead& head);
  Progress finish(Method request, ResponseHead& head);
  Slice slice(std::string_view text) const {
    return {static_cast<std::uint32_t>(text.data() - bytes_), static_cast<std::uint32_t>(text.size())};
  }

  HeadReader reader_;
  Semantics semantics_;
  Refusal refusal_;
  const char* bytes_ = nullptr;
};

}  // namespace weir::wire::http

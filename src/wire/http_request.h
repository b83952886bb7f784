// Requests, as a server reads them.
#pragma once

#include <string_view>
#include <utility>

#include "wire/http_head.h"
#include "wire/http_message.h"

namespace weir::wire::http {

/// The head of a request. Its views point into the parsed buffer and are valid as long as it.
class RequestHead {
 public:
  Method method() const { return method_; }
  std::string_view method_text() const { return view(method_text_); }
  Version version() const { return version_; }
  /// As sent: "/a/b?c=d", "http://host/a/b?c=d" or "*".
  std::string_view target() const { return view(target_); }
  /// Between host and query: "/a/b", not decoded. "/" for an absolute target without one; "*" for OPTIONS *.
  std::string_view path() const { return path_.length == 0 ? std::string_view("/") : view(path_); }
  /// Behind the "?", not decoded; empty without one.
  std::string_view query() const { return view(query_); }
  /// The host asked for: of an absolute target if there is one, else the Host field. Maybe empty.
  std::string_view host() const { return view(host_); }
  const Fields& fields() const { return fields_; }
  Framing body() const { return body_; }
  /// Whether the connection may carry another request after this one.
  bool keep_alive() const { return keep_alive_; }
  /// Whether the client waits for a 100 before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  /// How many fields are called Authorization.
  unsigned authorizations() const { return authorizations_; }
  /// Whether Connection lists anything beside close, keep-alive and upgrade.
  bool connection_names_fields() const { return connection_names_fields_; }
  /// Whether the client offers to change the protocol (Connection: upgrade with an Upgrade field).
  bool upgrade() const { return upgrade_; }

  /// The parsed bytes have moved to this address.
  void rebase(const char* base) {
    base_ = base;
    fields_.rebase(base);
  }
  /// Back to the initial state; allocations are kept.
  void clear() {
    Fields fields = std::move(fields_);
    fields.clear();
    *this = RequestHead();
    fields_ = std::move(fields);
  }

 private:
  friend class RequestParser;
  std::string_view view(Slice slice) const { return {base_ + slice.offset, slice.length}; }

  const char* base_ = "";
  Slice method_text_;
  Slice target_;
  Slice path_;
  Slice query_;
  Slice host_;
  Fields fields_;
  Framing body_;
  Method method_ = Method::get;
  Version version_ = Version::http_1_1;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool upgrade_ = false;
  bool connection_names_fields_ = false;
  unsigned authorizations_ = 0;
};

/// Reads the head of one request. Not safe for use by several threads at once.
class RequestParser {
 public:
  explicit RequestParser(const Limits& limits) : reader_(limits, /*skips_blank=*/true) {}

  /// Continues with the request that starts at the front of `bytes`, which holds all bytes so far, those of
  /// earlier calls included; they may have moved. Once complete, `head` has views into `bytes`; pass the same
  /// head until then.
  Progress parse(std::string_view bytes, RequestHead& head);
  /// How many bytes the head took. Requires complete.
  std::size_t size() const { return reader_.position(); }
  /// Why it failed. Requires failed.
  const Refusal& refusal() const { return refusal_; }
  /// Ready for the next request.
  void clear();

 private:
  Progress fail(int status, std::string_view reason);
  bool start_line(std::string_view line, RequestHead& head);
  bool version(std::string_view text, RequestHead& head);
  bool target(std::string_view text, RequestHead& head);
  bool absolute_target(std::string_view text, RequestHead& head);
  bool field(std::string_view line, RequestHead& head);
  Progress finish(RequestHead& head);
  Progress finish_body(RequestHead& head);
  Slice slice(std::string_view text) const {
    return {static_cast<std::uint32_t>(text.data() - bytes_), static_cast<std::uint32_t>(text.size())};
  }

  HeadReader reader_;
  Semantics semantics_;
  Refusal refusal_;
  const char* bytes_ = nullptr;
  bool host_in_target_ = false;
};

}  // namespace weir::wire::http

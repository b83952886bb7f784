// Writing HTTP/1.1: whole heads into one buffer, chunks around bodies. As strict as the parser: a field that
// could end its line early is not written.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wire/buffer.h"
#include "wire/http_message.h"

namespace weir::wire::http {

/// The text of a Date field: "Sun, 06 Nov 1994 08:49:37 GMT".
using DateText = std::array<char, 29>;
DateText format_date(std::int64_t seconds_since_1970);

/// Appends "name: value" and a line end. False, and nothing is written, if the name is not a token or the
/// value has a character that is not allowed in it.
bool write_field(Buffer& out, std::string_view name, std::string_view value);
bool write_field(Buffer& out, std::string_view name, std::uint64_t value);

/// The head of a response, besides the caller's fields.
struct ResponseShape {
  int status = 200;
  /// How the body is delimited. With `none` no Content-Length is written: for 1xx, 204, 304.
  Framing body;
  Version request = Version::http_1_1;  ///< of the request that it answers
  bool keep_alive = true;               ///< whether the connection stays open afterwards
  std::string_view date;                ///< the value of Date; left out if empty
  /// Further fields, as whole lines made by write_field(). Not checked again.
  std::string_view fields;
};

/// Appends status line, fields and the blank line. Writes Date, Content-Length or Transfer-Encoding, and
/// Connection where it differs from the version's default; `fields` must not have those. For an upgrade
/// (101), `fields` has Connection and Upgrade and nothing is added.
void write_response_head(Buffer& out, const ResponseShape& shape);

/// Appends an interim response: 100, 102, 103.
void write_interim(Buffer& out, int status, std::string_view fields = {});

/// Appends "METHOD target HTTP/1.1" and a line end. Method and target come from a parser or from this
/// program; they are not checked again.
void write_request_line(Buffer& out, std::string_view method, std::string_view target);

/// Appends one chunk; nothing for empty data, which would end the body.
void write_chunk(Buffer& out, std::string_view data);
/// Appends the end of a chunked body, with trailer fields as whole lines.
void write_last_chunk(Buffer& out, std::string_view trailers = {});

}  // namespace weir::wire::http

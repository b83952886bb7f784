// The lines of a head, shared by the request parser and the response parser.
//
// A head arrives in pieces. It is parsed line by line, each line once, as soon as it is complete; so feeding
// it byte by byte costs no more than a scan, and refuses at the same line with the same status as feeding it
// at once. A line ends with CR LF only: parsers that disagree about a bare LF or CR allow request smuggling.
#pragma once

#include <string_view>

#include "wire/http_message.h"

namespace weir::wire::http {

/// Collects the fields that concern the whole message: framing, keep-alive, upgrade. Fed with each field in
/// turn.
class Semantics {
 public:
  /// False if the field makes the message unacceptable; see refusal().
  bool note(std::string_view name, std::string_view value);
  void clear() { *this = Semantics(); }

  const Refusal& refusal() const { return refusal_; }
  bool has_length() const { return has_length_; }
  std::uint64_t length() const { return length_; }
  bool has_coding() const { return has_coding_; }
  bool close() const { return close_; }
  bool keep_alive() const { return keep_alive_; }
  bool upgrade() const { return connection_upgrade_ && has_upgrade_; }
  bool expects() const { return expects_; }
  bool expects_continue() const { return expects_continue_; }
  unsigned hosts() const { return hosts_; }
  unsigned authorizations() const { return authorizations_; }
  bool connection_names_fields() const { return names_fields_; }

 private:
  bool note_length(std::string_view value);
  bool note_coding(std::string_view value);
  bool note_connection(std::string_view value);
  bool note_expect(std::string_view value);
  bool refuse(int status, std::string_view reason);

  Refusal refusal_;
  std::uint64_t length_ = 0;
  unsigned hosts_ = 0;
  unsigned authorizations_ = 0;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool close_ = false;
  bool keep_alive_ = false;
  bool connection_upgrade_ = false;
  bool names_fields_ = false;
  bool has_upgrade_ = false;
  bool expects_ = false;
  bool expects_continue_ = false;
};

/// Splits a head into lines while it arrives, and enforces the limits.
class HeadReader {
 public:
  enum class Event : std::uint8_t { start_line, field, end, need_more, failed };

  /// With skips_blank, one empty line before the start line is skipped: some clients send an extra line end
  /// after a body (RFC 9112, 2.2).
  HeadReader(const Limits& limits, bool skips_blank)
      : limits_(limits), skips_blank_(skips_blank), may_skip_blank_(skips_blank) {}

  /// The next line, without its end. `bytes` begins at the same byte in each call.
  Event next(std::string_view bytes, std::string_view& line);
  /// Where the next line starts; at the end, the size of the head.
  std::size_t position() const { return line_start_; }
  const Refusal& refusal() const { return refusal_; }
  void clear();

 private:
  Event judge(std::string_view line, bool well_ended);
  Event over_limit(std::string_view bytes);
  Event fail(int status, std::string_view reason);

  Limits limits_;
  Refusal refusal_;
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
  std::size_t fields_ = 0;
  bool started_ = false;
  bool skips_blank_;
  bool may_skip_blank_;
};

/// Splits "name: value" and checks both. False, with the reason, if it is not a field.
bool parse_field(std::string_view line, Field& field, Refusal& refusal);

}  // namespace weir::wire::http

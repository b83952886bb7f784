// The parts that HTTP/1.1 requests and responses share: versions, fields, framing of bodies, and refusals of
// a parser. Nothing here reads a socket or a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/maxima.h"

namespace weir::wire::http {

enum class Version : std::uint8_t { http_1_0, http_1_1 };

enum class Method : std::uint8_t { get, head, post, put, delete_, options, patch, trace, connect, other };

/// The limits beyond which a message is refused. Sizes are in bytes.
struct Limits {
  std::size_t start_line = maxima::start_line;  ///< of the request line or status line (414)
  std::size_t head = maxima::head;      ///< of start line and fields together, blank line included (431)
  std::size_t fields = maxima::fields;  ///< how many fields a head, or a trailer, may have (431)
  std::size_t chunk_extensions =
      maxima::chunk_extensions;           ///< of all chunk extensions of one body together (400)
  std::size_t trailer = maxima::trailer;  ///< of the trailer section of one body (431)
};

/// Why a message was refused: the status to answer a request with, and a sentence with static lifetime. A
/// proxy that refuses a response answers 502 whatever the status here.
struct Refusal {
  int status = 0;
  std::string_view reason;
};

enum class Progress : std::uint8_t { need_more, complete, failed };

/// How the end of a body is found.
struct Framing {
  enum class Kind : std::uint8_t {
    none,         ///< there is no body
    length,       ///< `length` bytes
    chunked,      ///< chunks, and a trailer section
    until_close,  ///< all until the connection ends: responses, and both directions after an upgrade
  };
  Kind kind = Kind::none;
  std::uint64_t length = 0;

  friend bool operator==(const Framing&, const Framing&) = default;
};

/// A part of the message, as offsets: the buffer may move while more of the message arrives.
struct Slice {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

struct Field {
  std::string_view name;
  std::string_view value;
};

/// The fields of a head or of a trailer section, in order, as views into the buffer they were parsed from.
class Fields {
 public:
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  Field operator[](std::size_t index) const {
    return {view(entries_[index].name), view(entries_[index].value)};
  }

  /// The value of the first field of that name; nothing if there is none.
  std::optional<std::string_view> find(std::string_view name) const;
  /// How many fields have that name.
  std::size_t count(std::string_view name) const;

  // For parsers.
  void clear() { entries_.clear(); }
  void rebase(const char* base) { base_ = base; }
  void add(Slice name, Slice value) { entries_.push_back({name, value}); }

 private:
  struct Entry {
    Slice name;
    Slice value;
  };
  std::string_view view(Slice slice) const { return {base_ + slice.offset, slice.length}; }

  const char* base_ = nullptr;
  std::vector<Entry> entries_;
};

/// The phrase that belongs to a status: "Not Found"; "" for a status without one.
std::string_view reason_phrase(int status);

/// Whether a response with that status never has a body (1xx, 204, 304).
constexpr bool is_bodiless(int status) { return status < 200 || status == 204 || status == 304; }

}  // namespace weir::wire::http

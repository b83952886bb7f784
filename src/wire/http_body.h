// Bodies, as they come off the wire: delimited by a length, in chunks, or by the end of the connection.
#pragma once

#include <string>
#include <string_view>

#include "wire/http_message.h"

namespace weir::wire::http {

/// Takes the bytes after a head and returns those of the body, without copying them. Chunks are parsed as
/// strictly as heads: a size is 1 to 15 hexadecimal digits, lines end with CR LF, and ambiguous input is
/// refused. Not safe for use by several threads at once.
class BodyDecoder {
 public:
  /// The result of one step: it took `consumed` bytes of the input, among them `data`, which is part of the
  /// body.
  struct Step {
    Progress progress = Progress::need_more;
    std::size_t consumed = 0;
    std::string_view data;
  };

  explicit BodyDecoder(const Limits& limits) : limits_(limits) {}

  /// Starts a body of at most `largest` bytes. A length beyond it fails in the first step, before any byte.
  void start(Framing framing, std::uint64_t largest);

  /// Decodes from the front of `input`, up to one run of body bytes; call it again with the rest. need_more
  /// with nothing consumed and no data means that it needs more input. Once complete or failed, it takes
  /// nothing.
  Step decode(std::string_view input);

  bool complete() const { return state_ == State::done; }
  /// The connection has ended. True if the body may end here, as only an until_close body may.
  bool end_of_input();

  /// Why it failed. Requires failed.
  const Refusal& refusal() const { return refusal_; }
  /// Body bytes returned so far.
  std::uint64_t received() const { return received_; }
  /// The trailer section of a chunked body, as views into the decoder. Requires complete.
  const Fields& trailers() const { return trailers_; }

 private:
  enum class State : std::uint8_t {
    done,
    failed,
    run,          ///< `left_` bytes of body
    until_close,  ///< body without end
    size_start,   ///< before the first digit of a chunk's size
    size,         ///< in the digits
    extension,    ///< between ";" and the line's end
    size_end,     ///< after the CR of the size line
    data_end,     ///< before the CR after a chunk
    data_end_lf,  ///< between that and its LF
    trailer,      ///< in the trailer section
  };
  Step fail(int status, std::string_view reason);
  Step take(std::string_view input, std::uint64_t most);
  bool framing_byte(char c);
  bool size_byte(char c);
  bool end_of_size();
  bool trailer_byte(char c);
  bool end_of_trailer_line();
  bool parse_trailers();
  bool refuse(int status, std::string_view reason);

  Limits limits_;
  Refusal refusal_;
  std::uint64_t largest_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t left_ = 0;
  std::size_t extensions_ = 0;
  std::size_t line_start_ = 0;
  unsigned digits_ = 0;
  State state_ = State::done;
  bool chunked_ = false;
  std::string trailer_text_;
  Fields trailers_;
};

}  // namespace weir::wire::http

// Bodies. In pieces of any size the same body comes out, and what came out can be written in chunks and read
// again. The first bytes choose framing and size of pieces.
#include <cstdlib>
#include <string>
#include <string_view>

#include "wire/http_body.h"
#include "wire/http_write.h"

namespace {

using namespace weir::wire;
using namespace weir::wire::http;

constexpr Limits limits{.fields = 4, .chunk_extensions = 20, .trailer = 60};
constexpr std::uint64_t largest = 200;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Outcome {
  Progress progress = Progress::need_more;
  int status = 0;
  std::string body;
  std::size_t used = 0;
  std::string trailers;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome decode(std::string_view bytes, Framing framing, std::size_t piece) {
  BodyDecoder decoder(limits);
  decoder.start(framing, largest);
  Outcome outcome;
  std::size_t arrived = 0;
  while (true) {
    const auto step = decoder.decode(bytes.substr(outcome.used, arrived - outcome.used));
    outcome.used += step.consumed;
    outcome.body += step.data;
    outcome.progress = step.progress;
    require(outcome.body.size() <= largest && decoder.received() == outcome.body.size());
    if (step.progress != Progress::need_more) break;
    if (step.consumed != 0) continue;
    if (arrived == bytes.size()) break;
    arrived = std::min(arrived + piece, bytes.size());
  }
  if (outcome.progress == Progress::failed) {
    outcome.status = decoder.refusal().status;
    outcome.used = 0;
  }
  for (std::size_t i = 0; outcome.progress == Progress::complete && i < decoder.trailers().size(); ++i) {
    outcome.trailers.append(decoder.trailers()[i].name).append(": ").append(decoder.trailers()[i].value) +=
        "\r\n";
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  constexpr Framing framings[] = {{Framing::Kind::chunked},
                                  {Framing::Kind::length, 30},
                                  {Framing::Kind::until_close},
                                  {Framing::Kind::chunked}};
  const Framing framing = framings[data[0] % 4];
  const Outcome at_once = decode(bytes, framing, bytes.size() + 1);
  require(decode(bytes, framing, 1) == at_once);
  require(decode(bytes, framing, 1 + data[1]) == at_once);
  if (at_once.progress != Progress::complete) return 0;
  Buffer out;
  write_chunk(out, at_once.body);
  write_last_chunk(out, at_once.trailers);
  const Outcome again = decode(out.view(), {Framing::Kind::chunked}, 7);
  // A trailer may grow a little when it is written, past its limit.
  if (again.status == 431) return 0;
  require(again.progress == Progress::complete && again.body == at_once.body &&
          again.trailers == at_once.trailers);
  return 0;
}

// Requests with the answers that SessionHandler gives to them. Any sequence of them is a stream of requests
// with a known answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/options.h"

namespace weir::net {

struct Sample {
  enum class Body : std::uint8_t { none, buffered, streamed };
  enum class After : std::uint8_t {
    next,     ///< another request may follow
    close,    ///< the connection ends with the answer, of its own accord
    refused,  ///< the same, and maybe before the last byte of the request
    tunnel,   ///< all further bytes are sent back
  };
  std::string_view name;
  std::string bytes;
  std::string answer;
  std::string seen;  ///< by the handler; empty if the request does not reach it
  Body body = Body::none;
  After after = After::next;

  std::size_t head() const { return bytes.find("\r\n\r\n") + 4; }
  /// The answer if the connection ends after it.
  std::string last_answer() const {
    const std::string close = "Connection: close\r\n";
    std::string text = answer;
    if (text.find(close) != std::string::npos) return text;
    const std::size_t kept = text.find("Connection: keep-alive\r\n");
    if (kept != std::string::npos) return text.replace(kept, 24, close);
    // Behind the framing, which is the first field of the final answer.
    const std::size_t final_head = text.starts_with("HTTP/1.1 103") ? text.find("\r\n\r\n") + 4 : 0;
    std::size_t at = text.find("\r\n", final_head) + 2;
    const bool framed = text.substr(at, 14) == "Content-Length" || text.substr(at, 17) == "Transfer-Encoding";
    if (framed) at = text.find("\r\n", at) + 2;
    return text.insert(at, close);
  }
};

inline std::string answer_of(std::string_view status, std::string_view fields, std::string_view body) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append(fields).append("\r\n").append(body);
}
inline std::string ok(std::string_view body) { return answer_of("200 OK", "X-Test: yes\r\n", body); }
inline std::string refusal(std::string_view status) {
  return answer_of(status, "Connection: close\r\nX-Refused: yes\r\n", status.substr(0, 3));
}

inline ServerOptions sample_options(unsigned max_pipelined) {
  ServerOptions options;
  options.max_pipelined = max_pipelined;
  options.max_body = 1000;
  options.limits = {.start_line = 200, .head = 600, .fields = 10, .chunk_extensions = 20, .trailer = 60};
  return options;
}

inline std::vector<Sample> whole_samples() {
  using Body = Sample::Body;
  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  const std::string chunks =
      "Transfer-Encoding: chunked\r\n\r\n3;e=1\r\nabc\r\n2\r\nde\r\n0\r\nT: end\r\n\r\n";
  const std::string chunked_answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\nX-End: yes\r\n\r\n";
  return {
      {"get", "GET /a" + host + "\r\n", ok("GET /a "), "GET /a "},
      {"blank line first", "\r\nGET /b" + host + "\r\n", ok("GET /b "), "GET /b "},
      {"head", "HEAD /c" + host + "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nX-Test: yes\r\n\r\n",
       "HEAD /c "},
      {"204", "GET /204" + host + "\r\n", "HTTP/1.1 204 No Content\r\n\r\n", "GET /204 "},
      {"304", "GET /304" + host + "\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", "GET /304 "},
      {"unanswered", "GET /forget" + host + "\r\n",
       answer_of("500 Internal Server Error", "X-Refused: yes\r\n", "500"), "GET /forget "},
      {"empty body", "POST /d" + host + "Content-Length: 0\r\n\r\n", ok("POST /d "), "POST /d "},
      {"length", "POST /e" + host + "Content-Length: 5\r\n\r\nhello", ok("POST /e hello"), "POST /e hello",
       Body::buffered},
      {"chunks", "POST /f" + host + chunks, ok("POST /f abcde"), "POST /f abcde", Body::buffered},
      {"expect", "POST /g" + host + "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
       ok("POST /g hello"), "POST /g hello", Body::buffered},
      {"upgrade with body",
       "POST /h" + host + "Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 3\r\n\r\nabc",
       ok("POST /h abc"), "POST /h abc", Body::buffered},
      {"upgrade not taken", "GET /i" + host + "Connection: upgrade\r\nUpgrade: x\r\n\r\n", ok("GET /i "),
       "GET /i "},
      {"streamed answer", "GET /pieces" + host + "\r\n", chunked_answer, "GET /pieces "},
      {"streamed answer to HEAD", "HEAD /pieces" + host + "\r\n",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD /pieces "},
      {"streamed length", "GET /length" + host + "\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonetwo",
       "GET /length "},
      {"interim", "GET /interim" + host + "\r\n",
       "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + ok("GET /interim "), "GET /interim "},
      {"streamed body", "POST /upload" + host + "Content-Length: 5\r\n\r\nhello", ok("upload hello"),
       "POST /upload ", Body::streamed},
      {"streamed chunks", "POST /upload" + host + chunks, ok("upload abcde end"), "POST /upload ",
       Body::streamed},
      {"streamed expect", "POST /upload" + host + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
       ok("upload hi"), "POST /upload ", Body::streamed},
      {"1.0 kept", "GET /j HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       answer_of("200 OK", "Connection: keep-alive\r\nX-Test: yes\r\n", "GET /j "), "GET /j "},
      {"1.0 interim", "GET /interim HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       answer_of("200 OK", "Connection: keep-alive\r\nX-Test: yes\r\n", "GET /interim "), "GET /interim "},
  };
}

inline std::vector<Sample> ending_samples() {
  using After = Sample::After;
  using Body = Sample::Body;
  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  const std::string chunked = host + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string closed = "Connection: close\r\nX-Test: yes\r\n";
  std::vector<Sample> samples = {
      {"close", "GET /k" + host + "Connection: close\r\n\r\n", answer_of("200 OK", closed, "GET /k "),
       "GET /k ", Body::none, After::close},
      {"1.0", "GET /l HTTP/1.0\r\n\r\n", answer_of("200 OK", closed, "GET /l "), "GET /l ", Body::none,
       After::close},
      {"1.0 streamed answer", "GET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nonetwo", "GET /pieces ", Body::none, After::close},
      {"early answer", "POST /early" + host + "Content-Length: 3\r\n\r\nabc",
       answer_of("200 OK", closed, "POST /early "), "POST /early ", Body::streamed, After::refused},
      {"tunnel", "GET /tunnel" + host + "Connection: upgrade\r\nUpgrade: echo\r\n\r\n",
       "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", "GET /tunnel ",
       Body::none, After::tunnel},
      {"tunnel after a body",
       "POST /tunnel" + host + "Connection: upgrade\r\nUpgrade: echo\r\nContent-Length: 3\r\n\r\nabc",
       "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", "POST /tunnel abc",
       Body::buffered, After::tunnel},
      {"streamed body too large", "POST /upload" + host + "Content-Length: 1001\r\n\r\n",
       refusal("413 Content Too Large"), "POST /upload ", Body::streamed, After::refused},
      {"streamed chunks too large", "POST /upload" + chunked + "3e9\r\n", refusal("413 Content Too Large"),
       "POST /upload ", Body::streamed, After::refused},
      {"bad streamed chunks", "POST /upload" + chunked + "3\r\nabc\r\nzz\r\n", refusal("400 Bad Request"),
       "POST /upload ", Body::streamed, After::refused},
  };
  const std::vector<std::pair<std::string_view, std::string>> refused = {
      {"400 Bad Request", "GARBAGE\r\n\r\n"},
      {"400 Bad Request", "GET / HTTP/1.1\r\n\r\n"},
      {"400 Bad Request", "GET / HTTP/1.1\nHost: a\n\n"},
      {"400 Bad Request", "POST /" + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"},
      {"400 Bad Request",
       "POST /" + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"400 Bad Request", "POST /" + chunked + "zz\r\n"},
      {"400 Bad Request", "POST /" + chunked + "3\r\nabcd\r\n"},
      {"400 Bad Request", "POST /" + chunked + "0\r\nHost: b\r\n\r\n"},
      {"400 Bad Request", "POST /" + chunked + "1;" + std::string(21, 'e') + "\r\na\r\n"},
      {"403 Forbidden", "POST /refuse" + host + "Content-Length: 3\r\n\r\nabc"},
      {"411 Length Required", "POST / HTTP/1.0\r\n\r\n"},
      {"413 Content Too Large", "POST /" + host + "Content-Length: 1001\r\n\r\n"},
      {"413 Content Too Large", "POST /" + host + "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n"},
      {"413 Content Too Large", "POST /small" + host + "Content-Length: 5\r\n\r\nabcde"},
      {"413 Content Too Large", "POST /" + chunked + "3e8\r\n" + std::string(1000, 'a') + "\r\n1\r\na\r\n"},
      {"414 URI Too Long", "GET /" + std::string(300, 'a')},
      {"417 Expectation Failed", "POST /" + host + "Expect: magic\r\nContent-Length: 1\r\n\r\n"},
      {"431 Request Header Fields Too Large", "GET /" + host + "X: " + std::string(700, 'a')},
      {"431 Request Header Fields Too Large", "POST /" + chunked + "0\r\nX: " + std::string(70, 'a')},
      {"501 Not Implemented", "POST /" + host + "Transfer-Encoding: gzip\r\n\r\n"},
      {"501 Not Implemented", "CONNECT a:1" + host + "\r\n"},
      {"505 HTTP Version Not Supported", "GET / HTTP/3.0\r\nHost: a\r\n\r\n"},
  };
  for (const auto& [status, bytes] : refused) {
    samples.push_back({status, bytes, refusal(status), "", Body::none, After::refused});
  }
  return samples;
}

}  // namespace weir::net

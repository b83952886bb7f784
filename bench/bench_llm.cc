// A route to a language model beside nginx as a plain proxy, which counts and limits nothing: one thread on
// one core each, the same upstream, 64 connections, in alternating rounds. Two answers: JSON of 2 KB, and a
// stream of 200 events of 60 bytes, each of which the upstream writes by itself. Printed are the processor
// time of the proxy per call, its ratio to nginx's, the time to the first byte of a single call, and how much
// memory a thousand open streams take.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rounds.h"
#include "wrk.h"

namespace {

using namespace weir::bench;

constexpr int rounds = 7;
constexpr int events = 200;

std::string local(int port) { return "127.0.0.1:" + std::to_string(port); }

/// A vendor with a thread for each connection.
class Vendor {
 public:
  Vendor() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(socket, 1024) != 0)
      std::abort();
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
    std::thread([this, socket] {
      pin(client_core);
      for (int one = 0; (one = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
        std::thread([this, one] { serve(one); }).detach();
    }).detach();
  }
  int port() const { return port_; }
  /// Streams stop in the middle until it is lifted.
  void hold(bool held) { held_ = held; }

 private:
  static bool send(int socket, std::string_view bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  static std::string chunk(const std::string& data) {
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    return size + data + "\r\n";
  }
  void serve(int socket) const {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::string in;
    char bytes[16384];
    while (true) {
      std::size_t head = 0;
      while ((head = in.find("\r\n\r\n")) == std::string::npos || in.find("}]}", head) == std::string::npos) {
        const auto count = ::recv(socket, bytes, sizeof bytes, 0);
        if (count <= 0) return (void)::close(socket);
        in.append(bytes, static_cast<std::size_t>(count));
      }
      const bool streams = in.find("\"stream\":true", head) != std::string::npos;
      in.clear();
      if (!(streams ? stream(socket) : plain(socket))) return (void)::close(socket);
    }
  }
  static bool plain(int socket) {
    static const std::string body =
        R"({"id":"c","choices":[{"message":{"content":")" + std::string(1900, 'x') +
        R"("}}],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30}})";
    return send(socket, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  bool stream(int socket) const {
    static const std::string word =
        chunk("data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(14, 'x') + "\"}}]}\n\n");
    static const std::string end =
        chunk("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":200}}\n\n") +
        chunk("data: [DONE]\n\n") + "0\r\n\r\n";
    if (!send(socket,
              "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"))
      return false;
    for (int i = 0; i < events; ++i) {
      if (!send(socket, word)) return false;
      while (held_ && i == events / 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::this_thread::yield();
    }
    return send(socket, end);
  }
  int port_ = 0;
  std::atomic<bool> held_{false};
};

std::string nginx_proxy(const std::string& folder, int port, int upstream) {
  return "daemon off; master_process off; worker_processes 1; pid " + folder + "/pid; error_log " + folder +
         "/error crit;\nevents { worker_connections 4096; }\nhttp { access_log off; keepalive_requests "
         "1000000000;\n"
         "client_body_temp_path " +
         folder + "/b; proxy_temp_path " + folder + "/p; fastcgi_temp_path " + folder +
         "/f; uwsgi_temp_path " + folder + "/u; scgi_temp_path " + folder + "/s;\nupstream behind { server " +
         local(upstream) + "; keepalive 128; keepalive_requests 1000000000; }\nserver { listen " +
         local(port) +
         "; location / { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ''; "
         "proxy_buffering off; proxy_set_header Host $host; proxy_set_header X-Forwarded-For "
         "$proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme; } } }\n";
}

std::string weir_proxy(int port, int upstream) {
  return "listen: " + local(port) +
         "\nstore: memory\nroutes:\n  - {path: /, name: models, llm: openai, limit_by: bearer, "
         "upstream: \"http://" +
         local(upstream) + "\", limits: {rpm: 1000000000/min, tpm: 1000000000000/min}}\n";
}

std::string request(bool streams) {
  return std::string(R"({"model":"gpt-4o",)") + (streams ? R"("stream":true,)" : "") +
         R"("max_tokens":300,"messages":[{"role":"user","content":"hello"}]})";
}

/// Calls per processor time of the proxy, in nanoseconds.
double round(const Process& process, int port, const std::string& script) {
  const double before = process.cpu_seconds();
  const std::string text =
      Process({"wrk", "-t1", "-c64", "-d3s", "-s", script, "http://" + local(port) + "/v1/chat/completions"},
              client_core)
          .rest();
  const auto at = text.find(" requests in ");
  const double calls = at == std::string::npos ? 0 : std::stod(text.substr(text.rfind('\n', at) + 1));
  if (calls == 0 || text.find("Non-2xx") != std::string::npos ||
      text.find("Socket errors") != std::string::npos) {
    std::fprintf(stderr, "wrk was not answered as it should be:\n%s\n", text.c_str());
    std::exit(1);
  }
  return (process.cpu_seconds() - before) / calls * 1e9;
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) std::abort();
  return socket;
}

std::string http(bool streams) {
  const std::string body = request(streams);
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Median microseconds to the first byte of a stream.
double first_byte(int port) {
  std::vector<double> times;
  for (int i = 0; i < 201; ++i) {
    const int socket = connect_to(port);
    const std::string text = http(true);
    const auto began = std::chrono::steady_clock::now();
    ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    char byte = 0;
    ::recv(socket, &byte, 1, 0);
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    ::close(socket);
  }
  return median(times);
}

void open_streams(const Process& process, Vendor& vendor, int port) {
  constexpr int streams = 1000;
  vendor.hold(true);
  const double before = process.resident_kib();
  std::vector<int> sockets;
  const std::string text = http(true);
  char bytes[4096];
  for (int i = 0; i < streams; ++i) {
    sockets.push_back(connect_to(port));
    ::send(sockets.back(), text.data(), text.size(), MSG_NOSIGNAL);
    ::recv(sockets.back(), bytes, sizeof bytes, 0);
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::printf("%d open streams: %.1f KiB each (bar 48)\n", streams,
              (process.resident_kib() - before) / streams);
  vendor.hold(false);
  for (const int socket : sockets) ::close(socket);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: bench_llm WEIR FOLDER\n"), 2;
  const std::string folder = argv[2];
  std::filesystem::create_directories(folder + "/nginx");
  Vendor vendor;
  const int nginx_port = free_port();
  write_file(folder + "/nginx.conf", nginx_proxy(folder + "/nginx", nginx_port, vendor.port()));
  const Process nginx({"nginx", "-p", folder + "/nginx", "-c", folder + "/nginx.conf"}, server_core);
  const int port = free_port();
  write_file(folder + "/weir.yaml", weir_proxy(port, vendor.port()));
  Process weir({argv[1], "gateway", "--config", folder + "/weir.yaml"}, server_core);
  weir.line();
  for (const bool streams : {false, true}) {
    const std::string script = folder + "/call.lua";
    write_file(script, "wrk.method = 'POST'\nwrk.headers['Authorization'] = 'Bearer k'\nwrk.body = '" +
                           request(streams) + "'\n");
    const auto result = duel(
        rounds, [&] { return round(weir, port, script); }, [&] { return round(nginx, nginx_port, script); });
    std::printf("%-24s CPU per call: weir %7.2f us, nginx %7.2f us, ratio %.2f (bar %.1f)\n",
                streams ? "a stream of 200 events" : "JSON of 2 KB", result.ours / 1e3, result.rivals / 1e3,
                result.ratio, streams ? 1.3 : 1.5);
    std::fflush(stdout);
  }
  std::printf("time to the first byte: weir %.0f us, nginx %.0f us\n", first_byte(port),
              first_byte(nginx_port));
  open_streams(weir, vendor, port);
  return 0;
}

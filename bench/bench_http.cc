// The HTTP layer beside nginx: both answer the same ~100 bytes inline, one thread on one core each, under wrk
// with 64 connections on the other core, in alternating rounds. Printed is the processor time of the server
// per request, and its ratio to nginx's.
//
//   bench_http                          the duel
//   bench_http serve [THREADS [reuse]]  only our server, on a free port that it prints
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "net/server.h"
#include "processes.h"
#include "rounds.h"

namespace {

using weir::bench::Process;

constexpr std::string_view body =
    R"({"allowed":true,"lease":"0123456789abcdef","limits":[{"name":"rpm","remaining":99,"exceeded":false}]})";
constexpr int server_core = 0;
constexpr int client_core = 1;
constexpr int rounds = 5;

class Inline : public weir::net::Handler {
  void handle(weir::net::Exchange exchange) override {
    exchange.answer({.fields = "Content-Type: application/json\r\n", .body = body});
  }
};

int serve(unsigned threads, bool reuse_port) {
  Inline handler;
  weir::net::ServerOptions options;
  options.listen = {{.address = "127.0.0.1"}};
  options.threads = threads;
  if (reuse_port) options.sharing = weir::net::Sharing::reuse_port;
  auto server = weir::net::Server::start(options, handler);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  std::printf("%d\n", (*server)->addresses()[0].port);
  std::fflush(stdout);
  while (true) ::pause();
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

/// Waits until something accepts connections there; false if nothing does for ten seconds.
bool wait_for(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  for (int i = 0; i < 1000; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const bool there = ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (there) return true;
    ::usleep(10'000);
  }
  return false;
}

void write_file(const std::filesystem::path& path, std::string_view text) { std::ofstream(path) << text; }

std::string nginx_configuration(const std::string& folder, int port) {
  return "daemon off; master_process off; worker_processes 1; pid " + folder + "/pid; error_log " + folder +
         "/error crit;\nevents { worker_connections 1024; }\nhttp { access_log off; keepalive_requests "
         "1000000000;\n"
         "client_body_temp_path " +
         folder + "/b; proxy_temp_path " + folder + "/p; fastcgi_temp_path " + folder +
         "/f; uwsgi_temp_path " + folder + "/u; scgi_temp_path " + folder +
         "/s;\nserver { listen 127.0.0.1:" + std::to_string(port) +
         "; location / { default_type application/json; return 200 '" + std::string(body) + "'; } } }\n";
}

/// One round of wrk; how many requests were answered, and how many of those not with 2xx or at all.
struct Load {
  double requests = 0;
  double per_second = 0;
  bool clean = false;
};
Load load(int port, const std::string& script) {
  std::vector<std::string> command = {"wrk", "-t1", "-c64", "-d3s"};
  if (!script.empty()) command.insert(command.end(), {"-s", script});
  command.push_back("http://127.0.0.1:" + std::to_string(port) + "/v1/acquire");
  const std::string text = Process(command, client_core).rest();
  Load result;
  if (const auto at = text.find(" requests in "); at != std::string::npos) {
    result.requests = std::stod(text.substr(text.rfind('\n', at) + 1));
  }
  if (const auto at = text.find("Requests/sec:"); at != std::string::npos) {
    result.per_second = std::stod(text.substr(at + 13));
  }
  result.clean = text.find("Non-2xx") == std::string::npos && text.find("Socket errors") == std::string::npos;
  return result;
}

struct Contestant {
  Process& process;
  int port;
  double best = 0;

  /// Processor time per request, in nanoseconds.
  double round(const std::string& script) {
    const double before = process.cpu_seconds();
    const Load result = load(port, script);
    if (!result.clean || result.requests == 0) {
      std::fprintf(stderr, "wrk was not answered as it should be\n");
      std::exit(1);
    }
    best = std::max(best, result.per_second);
    return (process.cpu_seconds() - before) / result.requests * 1e9;
  }
};

void duel(const char* title, Contestant ours, Contestant nginx, const std::string& script) {
  const auto result =
      weir::bench::duel(rounds, [&] { return ours.round(script); }, [&] { return nginx.round(script); });
  std::printf("%-22s weir %6.2f us  nginx %6.2f us  ratio %.2f   best req/s %.0fk, nginx %.0fk\n", title,
              result.ours / 1e3, result.rivals / 1e3, result.ratio, ours.best / 1e3, nginx.best / 1e3);
  std::fflush(stdout);
}

/// Scripts for wrk: a POST with ~100 bytes, and 16 of them at once.
void write_scripts(const std::filesystem::path& folder) {
  const std::string request =
      "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
      "wrk.body = '{\"entity\":\"key-1\",\"resource\":\"gpt-4\",\"consume\":{\"rpm\":1,\"tpm\":500}}'\n";
  write_file(folder / "post.lua", request);
  write_file(folder / "post16.lua",
             request +
                 "function init(args)\n  local all = {}\n  for i = 1, 16 do all[i] = wrk.format() end\n"
                 "  requests = table.concat(all)\nend\nfunction request() return requests end\n");
}

bool installed(const char* program) {
  return Process({"which", program}, -1).line().find('/') != std::string::npos;
}

int compete(const std::string& self) {
  if (!installed("nginx") || !installed("wrk")) {
    std::printf("bench_http needs nginx and wrk: apt-get install nginx wrk\n");
    return 0;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bench_http.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const int port = free_port();
  write_file(folder + "/nginx.conf", nginx_configuration(folder, port));
  write_scripts(folder);
  {
    Process nginx({"nginx", "-p", folder, "-c", folder + "/nginx.conf"}, server_core);
    Process weir({self, "serve"}, server_core);
    const int ours = std::atoi(weir.line().c_str());
    if (ours == 0 || !wait_for(port)) return 1;
    duel("GET", {weir, ours}, {nginx, port}, "");
    duel("POST, ~100 bytes", {weir, ours}, {nginx, port}, folder + "/post.lua");
    duel("POST, pipelined by 16", {weir, ours}, {nginx, port}, folder + "/post16.lua");
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "serve") == 0) {
    return serve(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1, argc > 3);
  }
  return compete(std::filesystem::read_symlink("/proc/self/exe").string());
}

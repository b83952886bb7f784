// The HTTP layer beside nginx: both answer the same ~100 bytes inline, one thread on one core each, under wrk
// with 64 connections on the other core, in alternating rounds. Printed is the processor time of the server
// per request, and its ratio to nginx's.
//
//   bench_http                          the duel
//   bench_http serve [THREADS [reuse]]  only our server, on a free port that it prints
#include <cstring>
#include <filesystem>
#include <string>

#include "net/server.h"
#include "rounds.h"
#include "wrk.h"

namespace {

using namespace weir::bench;

constexpr std::string_view body =
    R"({"allowed":true,"lease":"0123456789abcdef","limits":[{"name":"rpm","remaining":99,"exceeded":false}]})";
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

void duel(const char* title, Contestant ours, Contestant nginx, const std::string& script) {
  const auto result =
      weir::bench::duel(rounds, [&] { return ours.round(script); }, [&] { return nginx.round(script); });
  std::printf("%-22s weir %6.2f us  nginx %6.2f us  ratio %.2f   best req/s %.0fk, nginx %.0fk\n", title,
              result.ours / 1e3, result.rivals / 1e3, result.ratio, ours.best / 1e3, nginx.best / 1e3);
  std::fflush(stdout);
}

int compete(const std::string& self) {
  if (!installed("nginx") || !installed("wrk")) {
    std::printf("bench_http needs nginx and wrk: apt-get install nginx wrk\n");
    return 0;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bench_http.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const int port = free_port();
  write_file(folder + "/nginx.conf", nginx_configuration(folder, port, body));
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

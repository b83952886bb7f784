// The service under load: POST /v1/acquire with two limits, all admitted, on memory and on a file, beside
// nginx that answers `return 200` to the same requests and beside a Node.js server with npm
// rate-limiter-flexible. In alternating rounds of wrk with 64 connections; then how much memory ten million
// requests take.
#include "rounds.h"
#include "wrk.h"

namespace {

using namespace weir::bench;

constexpr int rounds = 5;
/// What nginx answers with: as long as an answer of ours.
const std::string answer =
    R"({"allowed":true,"lease":")" + std::string(140, 'a') + R"(","limits":[)" + std::string(350, ' ') + "]}";

/// `weir serve` on a free port. The writer of a file has its own thread, which may use the other core too.
class Weir {
 public:
  Weir(const std::string& program, const std::string& store)
      : port(free_port()),
        process({program, "serve", "--store", store, "--listen", "127.0.0.1:" + std::to_string(port)},
                store == "memory:" ? server_core : -1) {
    if (!wait_for(port)) std::exit(1);
    const std::string put =
        "curl -sf -o /dev/null -X PUT http://127.0.0.1:" + std::to_string(port) +
        R"(/v1/limits/system -d '{"limits":{"rpm":"100000000/s","tpm":"100000000000/s"}}')";
    if (std::system(put.c_str()) != 0) std::exit(1);
  }
  const int port;
  Process process;
};

void compare(const char* title, Contestant ours, Contestant rival, const std::string& script) {
  const auto result = duel(rounds, [&] { return ours.round(script); }, [&] { return rival.round(script); });
  std::printf(
      "%-34s CPU per request: weir %5.2f us, rival %5.2f us, ratio %.2f   best req/s: %.0fk, %.0fk (%.1f "
      "times)\n",
      title, result.ours / 1e3, result.rivals / 1e3, result.ratio, ours.best / 1e3, rival.best / 1e3,
      ours.best / rival.best);
  std::fflush(stdout);
}

/// Requests per second of the same server, with and without pipelining.
void pipelining(Weir& weir, const std::string& one, const std::string& sixteen) {
  const auto result = duel(
      rounds, [&] { return load(weir.port, sixteen).per_second; },
      [&] { return load(weir.port, one).per_second; });
  std::printf("%-34s %.0fk requests per second, one at a time %.0fk: %.1f times (bar 2.5)\n",
              "pipelined by 16", result.ours / 1e3, result.rivals / 1e3, result.ratio);
  std::fflush(stdout);
}

/// Beside a server in Node.js that counts the same two limits in memory.
void compare_with_node(Weir& weir, const std::string& script) {
  const std::string folder = WEIR_BENCH_NODE;
  const std::string install =
      "npm ci --prefix '" + folder + "' --silent --no-audit --no-fund >/dev/null 2>&1";
  if (!installed("node") || std::system(install.c_str()) != 0) {
    std::printf("no comparison with rate-limiter-flexible: it needs node and npm, and npm ci in %s\n",
                folder.c_str());
    return;
  }
  const int port = free_port();
  Process node({"node", folder + "/server.js", std::to_string(port)}, server_core);
  if (!wait_for(port)) std::exit(1);
  compare("memory:, rate-limiter-flexible", {weir.process, weir.port}, {node, port}, script);
  std::printf("%-34s (bar: 2 times its requests per second)\n", "");
}

/// Until ten million requests are answered.
void memory_of(Weir& weir, const std::string& script) {
  constexpr double all = 10e6;
  double answered = 0;
  while (answered < all) {
    const double before = answered;
    answered += load(weir.port, script).requests;
    if (before == 0 || answered >= all) {
      std::printf("%-34s %.0f KiB resident after %.1f million requests\n", "memory",
                  weir.process.resident_kib(), answered / 1e6);
      std::fflush(stdout);
    }
  }
}

int run(const std::string& program) {
  for (const char* const needed : {"nginx", "wrk", "curl"}) {
    if (installed(needed)) continue;
    std::printf("bench_service needs %s: apt-get install nginx wrk curl\n", needed);
    return 0;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bench_service.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  const int nginx_port = free_port();
  write_file(folder + "/nginx.conf", nginx_configuration(folder, nginx_port, answer));
  write_scripts(folder);
  const std::string one = folder + "/post.lua";
  const std::string sixteen = folder + "/post16.lua";
  {
    Process nginx({"nginx", "-p", folder, "-c", folder + "/nginx.conf"}, server_core);
    if (!wait_for(nginx_port)) return 1;
    Weir memory(program, "memory:");
    compare("memory:, nginx return 200 (bar 1.3)", {memory.process, memory.port}, {nginx, nginx_port}, one);
    pipelining(memory, one, sixteen);
    compare_with_node(memory, one);
    memory_of(memory, sixteen);
    Weir file(program, "sqlite:" + folder + "/weir.db");
    compare("sqlite:, nginx return 200 (bar 1.6)", {file.process, file.port}, {nginx, nginx_port}, one);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return run((here.parent_path() / "weir").string());
}

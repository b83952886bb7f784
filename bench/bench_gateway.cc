// The gateway beside nginx with limit_req and haproxy with a stick table: one thread on one core each, the
// same upstream (nginx, on the other core, where wrk runs too), 64 connections, limits on. In alternating
// rounds; first with limits that admit everything, then with limits that refuse everything. Printed is the
// processor time of the proxy per request, its ratio to the rival's, and the 99th percentile that wrk saw.
// Then the gateway on Redis beside itself on a store of its own.
#include "rounds.h"
#include "wrk.h"

namespace {

using namespace weir::bench;

constexpr int rounds = 7;
const std::string body =
    R"({"id":12345,"name":"an answer of about a hundred bytes","tags":["a","b","c"],"more":true})";

std::string local(int port) { return "127.0.0.1:" + std::to_string(port); }

/// nginx as proxy. `rate`: as limit_req takes it.
std::string nginx_proxy(const std::string& folder, int port, int upstream, const std::string& rate,
                        const std::string& more) {
  return "daemon off; master_process off; worker_processes 1; pid " + folder + "/pid; error_log " + folder +
         "/error crit;\nevents { worker_connections 1024; }\nhttp { access_log off; keepalive_requests "
         "1000000000;\n"
         "client_body_temp_path " +
         folder + "/b; proxy_temp_path " + folder + "/p; fastcgi_temp_path " + folder +
         "/f; uwsgi_temp_path " + folder + "/u; scgi_temp_path " + folder +
         "/s;\n"
         "limit_req_zone $binary_remote_addr zone=clients:10m rate=" +
         rate +
         "; limit_req_status 429;\n"
         "upstream behind { server " +
         local(upstream) +
         "; keepalive 128; keepalive_requests 1000000000; }\n"
         "server { listen " +
         local(port) + "; location / { limit_req zone=clients" + more +
         ";\n"
         "proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header "
         "Host $host;\n"
         "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto "
         "$scheme; } } }\n";
}

/// `most` requests in ten seconds.
std::string haproxy_proxy(int port, int upstream, const std::string& most) {
  return "global\n  nbthread 1\n  maxconn 1024\ndefaults\n  mode http\n  timeout client 60s\n  timeout "
         "server 60s\n"
         "  timeout connect 5s\n  option forwardfor\nfrontend f\n  bind " +
         local(port) +
         "\n  stick-table type ip size 100k expire 60s store http_req_rate(10s)\n  http-request track-sc0 "
         "src\n"
         "  http-request deny deny_status 429 if { sc_http_req_rate(0) gt " +
         most +
         " }\n  default_backend b\n"
         "backend b\n  server s " +
         local(upstream) + "\n";
}

std::string weir_proxy(int port, int upstream, const std::string& limit,
                       const std::string& store = "memory") {
  return "listen: " + local(port) + "\nstore: " + store + "\nroutes:\n  - {path: /, upstream: \"http://" +
         local(upstream) + "\", limits: {requests: " + limit + "}}\n";
}

/// One round of wrk.
struct Seen {
  double requests = 0;
  double per_second = 0;
  double p99_us = 0;
};

double microseconds(const std::string& text) {
  const double value = std::stod(text);
  return text.find("us") != std::string::npos   ? value
         : text.find("ms") != std::string::npos ? value * 1e3
                                                : value * 1e6;
}

Seen look(int port, bool refused) {
  const std::string text =
      Process({"wrk", "-t1", "-c64", "-d3s", "--latency", "http://" + local(port) + "/"}, client_core).rest();
  Seen seen;
  if (const auto at = text.find(" requests in "); at != std::string::npos)
    seen.requests = std::stod(text.substr(text.rfind('\n', at) + 1));
  if (const auto at = text.find("Requests/sec:"); at != std::string::npos)
    seen.per_second = std::stod(text.substr(at + 13));
  if (const auto at = text.find(" 99%"); at != std::string::npos)
    seen.p99_us = microseconds(text.substr(at + 4, text.find('\n', at) - at - 4));
  double others = 0;
  if (const auto at = text.find("Non-2xx or 3xx responses:"); at != std::string::npos)
    others = std::stod(text.substr(at + 25));
  const bool as_meant = refused ? others > seen.requests * 0.999 : others == 0;
  if (seen.requests == 0 || !as_meant || text.find("Socket errors") != std::string::npos) {
    std::fprintf(stderr, "wrk was not answered as it should be:\n%s\n", text.c_str());
    std::exit(1);
  }
  return seen;
}

struct Proxy {
  Process& process;
  int port;
  bool refused;
  double best = 0;
  std::vector<double> p99 = {};

  /// Processor time per request, in nanoseconds.
  double round() {
    const double before = process.cpu_seconds();
    const Seen seen = look(port, refused);
    best = std::max(best, seen.per_second);
    p99.push_back(seen.p99_us);
    return (process.cpu_seconds() - before) / seen.requests * 1e9;
  }
};

void compare(const char* title, Proxy ours, Proxy rival, double bar = 1.0) {
  const auto result = duel(rounds, [&] { return ours.round(); }, [&] { return rival.round(); });
  std::printf(
      "%-32s CPU per request: weir %5.2f us, rival %5.2f us, ratio %.2f (bar %.2f)   best req/s %.0fk, %.0fk "
      " "
      " p99 %.2f ms, "
      "%.2f ms\n",
      title, result.ours / 1e3, result.rivals / 1e3, result.ratio, bar, ours.best / 1e3, rival.best / 1e3,
      median(ours.p99) / 1e3, median(rival.p99) / 1e3);
  std::fflush(stdout);
}

void compete(const std::string& program, const std::string& folder, int upstream, bool refused) {
  const int nginx_port = free_port();
  std::filesystem::create_directories(folder + "/nginx");
  write_file(
      folder + "/nginx.conf",
      refused ? nginx_proxy(folder + "/nginx", nginx_port, upstream, "1r/m", "")
              : nginx_proxy(folder + "/nginx", nginx_port, upstream, "1000000r/s", " burst=1000000 nodelay"));
  Process nginx({"nginx", "-p", folder + "/nginx", "-c", folder + "/nginx.conf"}, server_core);
  const int haproxy_port = free_port();
  write_file(folder + "/haproxy.cfg", haproxy_proxy(haproxy_port, upstream, refused ? "1" : "1000000000"));
  Process haproxy({"haproxy", "-db", "-f", folder + "/haproxy.cfg"}, server_core);
  const int weir_port = free_port();
  write_file(folder + "/gateway.yaml", weir_proxy(weir_port, upstream, refused ? "1/day" : "100000000/s"));
  Process weir({program, "gateway", "--config", folder + "/gateway.yaml"}, server_core);
  for (const int port : {nginx_port, haproxy_port, weir_port}) {
    if (!wait_for(port)) std::exit(1);
  }
  const Proxy ours{weir, weir_port, refused};
  compare(refused ? "refused, nginx limit_req" : "admitted, nginx limit_req", ours,
          {nginx, nginx_port, refused});
  compare(refused ? "refused, haproxy stick table" : "admitted, haproxy stick table", ours,
          {haproxy, haproxy_port, refused});
}

/// The same gateway on Redis, beside itself on its embedded stores. Redis runs where the upstream does.
void compete_on_redis(const std::string& program, const std::string& folder, int upstream, bool refused) {
  const int redis_port = free_port();
  Process redis({"redis-server", "--port", std::to_string(redis_port), "--bind", "127.0.0.1", "--save", "",
                 "--dir", folder},
                client_core);
  if (!wait_for(redis_port)) std::exit(1);
  const std::string limit = refused ? "1/day" : "100000000/s";
  const auto gateway = [&](const char* name, int port, const std::string& store) {
    const std::string file = folder + "/" + name + ".yaml";
    write_file(file, weir_proxy(port, upstream, limit, store));
    return std::vector<std::string>{program, "gateway", "--config", file};
  };
  const int shared_port = free_port();
  const int memory_port = free_port();
  const int file_port = free_port();
  Process shared(gateway("shared", shared_port, "redis://" + local(redis_port)), server_core);
  Process memory(gateway("memory", memory_port, "memory"), server_core);
  const std::string file = "sqlite:" + folder + (refused ? "/refused.db" : "/admitted.db");
  Process in_file(gateway("file", file_port, file), server_core);
  for (const int port : {shared_port, memory_port, file_port}) {
    if (!wait_for(port)) std::exit(1);
  }
  const Proxy ours{shared, shared_port, refused};
  compare(refused ? "refused, redis beside memory" : "admitted, redis beside memory", ours,
          {memory, memory_port, refused}, 1.35);
  compare(refused ? "refused, redis beside sqlite" : "admitted, redis beside sqlite", ours,
          {in_file, file_port, refused}, 1.35);
}

int run(const std::string& program) {
  for (const char* const needed : {"nginx", "haproxy", "wrk", "redis-server"}) {
    if (installed(needed)) continue;
    std::printf("bench_gateway needs %s: apt-get install nginx haproxy wrk redis-server\n", needed);
    return 0;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "bench_gateway.XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  {
    const int upstream_port = free_port();
    std::filesystem::create_directories(folder + "/upstream");
    write_file(folder + "/upstream.conf", nginx_configuration(folder + "/upstream", upstream_port, body));
    Process upstream({"nginx", "-p", folder + "/upstream", "-c", folder + "/upstream.conf"}, client_core);
    if (!wait_for(upstream_port)) return 1;
    compete(program, folder, upstream_port, false);
    compete(program, folder, upstream_port, true);
    compete_on_redis(program, folder, upstream_port, false);
    compete_on_redis(program, folder, upstream_port, true);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return run((here.parent_path() / "weir").string());
}

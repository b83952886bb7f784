// Servers under wrk: ours, nginx and others answer the same requests, one thread on one core each, with 64
// connections from the other core.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "processes.h"

namespace weir::bench {

inline constexpr int server_core = 0;
inline constexpr int client_core = 1;

inline int free_port() {
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
inline bool wait_for(int port) {
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

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

inline std::string nginx_configuration(const std::string& folder, int port, std::string_view body) {
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
inline Load load(int port, const std::string& script) {
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

/// Scripts for wrk: a POST with ~100 bytes, and 16 of them at once.
inline void write_scripts(const std::filesystem::path& folder) {
  const std::string request =
      "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
      "wrk.body = '{\"entity\":\"key-1\",\"resource\":\"gpt-4\",\"consume\":{\"rpm\":1,\"tpm\":500}}'\n";
  write_file(folder / "post.lua", request);
  write_file(folder / "post16.lua",
             request +
                 "function init(args)\n  local all = {}\n  for i = 1, 16 do all[i] = wrk.format() end\n"
                 "  requests = table.concat(all)\nend\nfunction request() return requests end\n");
}

inline bool installed(const char* program) {
  return Process({"which", program}, -1).line().find('/') != std::string::npos;
}

}  // namespace weir::bench

// How a service is named, and the mistakes that people make with it.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "cli/served.h"
#include "cli/shell.h"
#include "net/socket_address.h"
#include "support/folder.h"

namespace weir::cli {
namespace {

// The digests of "alice-secret" and "edge-secret".
constexpr const char* token_lines =
    "alice admin sha256:0c848abb03307b06cf70cd4e29c157dc81af5e94ab3eb1d0c59a120269572376 team-2\n"
    "edge acquire sha256:0b863617d30f02eb2cc8e2f26787bdf34a19a06b7ab72c7da72185ed734fce13\n";

class Server : public testing::Test {
 protected:
  /// Runs the line; it must end so, and complain so.
  void fails(const std::string& line, int wanted, const std::string& complaint) {
    EXPECT_EQ(shell.run(line), wanted) << line << shell.out << shell.err;
    EXPECT_NE(shell.err.find(complaint), std::string::npos) << line << "\n" << shell.err;
    EXPECT_EQ(shell.err.find("secret"), std::string::npos) << shell.err;
  }
  void ask_for_tokens() {
    served.service->set_tokens(
        std::make_shared<service::Tokens>(*service::Tokens::parse(token_lines, "tokens")));
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
  }

  tests::Folder folder;
  Shell shell;
  Served served{"memory:", shell.clock};
};

TEST_F(Server, IsNamedByAnOptionOrAVariable) {
  EXPECT_EQ(shell.run("limits set --system -l rpm:5 --server " + served.url()), 0) << shell.err;
  EXPECT_EQ(shell.run("--server " + served.url() + "/ limits get --system"), 0) << shell.err;
  EXPECT_EQ(shell.url, "");
  shell.environment["WEIR_SERVER"] = served.url();
  EXPECT_EQ(shell.run("limits get --system"), 0) << shell.err;
  EXPECT_EQ(shell.url, "");
  // An option counts more than a variable.
  EXPECT_EQ(shell.run("limits get --system --store memory:"), 1);
  EXPECT_EQ(shell.url, "memory:");
  EXPECT_EQ(shell.run("--server http://127.0.0.1:1 limits get --system --server " + served.url()), 0);
  EXPECT_EQ(shell.run("--store memory: limits get --system --server " + served.url()), 0);
  shell.environment["WEIR_STORE"] = "memory:";
  EXPECT_EQ(shell.run("limits get --system --server " + served.url()), 0);
  EXPECT_EQ(shell.run("limits get --system --store memory:"), 1);
  fails("limits get --system", 2, "WEIR_STORE and WEIR_SERVER are both set; unset one of them");
  // It makes no difference here.
  EXPECT_EQ(shell.run("help limits"), 0);
  EXPECT_EQ(shell.run("completion bash"), 0);
  EXPECT_EQ(shell.run("store init --store memory:"), 0);
  shell.environment["WEIR_SERVER"] = "";
  EXPECT_EQ(shell.run("limits get --system"), 1);
}

TEST_F(Server, AndAStoreAreNotNamedTogether) {
  fails("limits list --store memory: --server " + served.url(), 2, "say one of them");
  for (const char* const command : {"serve", "completion bash", "help limits", "store init"})
    fails(std::string(command) + " --server " + served.url(), 2, "leave out --server");
  fails("--server " + served.url() + " serve", 2, "leave out --server");
  fails("entity create e --as alice --server " + served.url(), 2, "a service knows you by your token");
  for (const char* const option : {"--token-file x", "--ca-file x", "--timeout 5s"})
    fails(std::string("limits list ") + option, 2, "belongs to --server URL");
  fails("limits list --ca-file x --server " + served.url(), 2, "--ca-file is for https://");
  fails("limits list --timeout soon --server " + served.url(), 2, "--timeout");
  shell.environment["WEIR_SERVER"] = served.url();
  fails("store init", 2, "WEIR_SERVER is set, and a store is made here; say which with --store URL");
}

TEST_F(Server, IsAUrlWithHttpBeforeIt) {
  const std::string at = "127.0.0.1:" + served.port();
  fails("limits list --server " + at, 2, "begin with http:// or https://, such as http://" + at);
  fails("limits list --server ''", 2, "such as http://127.0.0.1:8080");
  fails("limits list --server sqlite:weir.db", 2, "reached by http:// or https://");
  fails("limits list --server http://me:secret@" + at, 2, "put the token in WEIR_TOKEN");
  fails("limits list --server http://" + at + "/v1", 2, "leave out the /v1");
  EXPECT_EQ(shell.run("limits list --server http://localhost:" + served.port()), 0) << shell.err;
  fails("limits list --server http://" + at + "/limits", 1, "does not know \"/v1/limits\"");
}

TEST_F(Server, ThatIsNotThereIsSaidSo) {
  // A port that was free a moment ago.
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
  ASSERT_EQ(::bind(probe, name.pointer(), name.size), 0);
  ASSERT_EQ(::getsockname(probe, name.pointer(), &name.size), 0);
  const std::string url = "http://" + net::from_socket(name).to_string();
  fails("limits list --server " + url, 1,
        "is the service running there (weir serve), and is the port right?");
  fails("acquire e r -c rpm=1 --server " + url, 1, "Connection refused");
  ::close(probe);
  fails("limits list --server http://no-such-host.invalid", 1, "check the host in --server");
  fails("limits list --server https://127.0.0.1:" + served.port(), 1, "begin --server with http://");
}

TEST_F(Server, AsksForTokens) {
  ask_for_tokens();
  const std::string server = " --server " + served.url();
  fails("limits list" + server, 1, "asks for a token; put it in WEIR_TOKEN, or in a file");
  shell.environment["WEIR_TOKEN"] = "wrong-secret";
  fails("limits list" + server, 1, "does not know the token in WEIR_TOKEN");
  shell.environment["WEIR_TOKEN"] = "edge-secret";
  fails("limits list" + server, 1, "does not allow it: the token's roles do not allow this call");
  shell.in = "system: {limits: {rpm: 5/min}}\n";
  fails("limits apply -" + server, 1, "does not allow it");
  shell.environment["WEIR_TOKEN"] = "alice-secret";
  fails("limits list --namespace team-1" + server, 1, "the token is for another namespace");
  EXPECT_EQ(shell.run("limits apply -" + server), 0) << shell.err;
  EXPECT_EQ(shell.run("audit --namespace team-2" + server), 0) << shell.err;
  EXPECT_NE(shell.out.find(" alice set the limits of the system"), std::string::npos) << shell.out;
  // A file counts more than the variable.
  fails("limits list --token-file " + file("wrong", "wrong-secret\n") + server, 1,
        "does not know the token in ");
  shell.environment.erase("WEIR_TOKEN");
  EXPECT_EQ(shell.run("limits list --token-file " + file("token", "alice-secret\r\n") + server), 0)
      << shell.err;
  fails("limits list --token-file " + folder.file("missing") + server, 2, "cannot be read");
  fails("limits list --token-file " + file("empty", "\n") + server, 2, "has no token in it");
  fails("limits list --token-file " + file("two", "a-secret b-secret") + server, 2, "has no token in it");
  fails("limits list --token-file " + folder.path() + server, 2, "cannot be read");
}

/// Answers every connection with the same bytes, once a request's head has come.
class Impostor {
 public:
  explicit Impostor(std::string answer) : answer_(std::move(answer)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
    EXPECT_EQ(::bind(listening_, name.pointer(), name.size), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    EXPECT_EQ(::getsockname(listening_, name.pointer(), &name.size), 0);
    url = "http://" + net::from_socket(name).to_string();
    thread_ = std::thread([this] { serve(); });
  }
  ~Impostor() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  std::string url;

 private:
  void serve() const {
    for (int client = 0; (client = ::accept(listening_, nullptr, nullptr)) >= 0; ::close(client)) {
      std::string request;
      char bytes[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const auto count = ::recv(client, bytes, sizeof bytes, 0);
        if (count <= 0) break;
        request.append(bytes, static_cast<std::size_t>(count));
      }
      ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
      while (::recv(client, bytes, sizeof bytes, 0) > 0) {
      }
    }
  }

  std::string answer_;
  int listening_ = -1;
  std::thread thread_;
};

std::string answer(const std::string& status, const std::string& type, const std::string& body,
                   const std::string& fields = {}) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST_F(Server, ThatIsSomethingElseIsSaidSo) {
  struct Case {
    std::string bytes;
    const char* complaint;
  };
  const std::string page = "<html>";
  for (const Case& one : {
           Case{"SSH-2.0-OpenSSH_9.2\r\n", "does not speak HTTP"},
           Case{"", "was cut before the answer came"},
           Case{answer("404 Not Found", "text/html", page, "Server: nginx\r\n"),
                "is not weir (404 Not Found, text/html, nginx); check host, port and path"},
           Case{answer("200 OK", "text/html; charset=utf-8", page), "is not weir (200 OK, text/html)"},
           Case{answer("401 Unauthorized", "text/html", page), "is not weir (401"},
           Case{answer("301 Moved Permanently", "text/html", page, "Location: https://a.example/\r\n"),
                "sends you on to \"https://a.example/\"; use that as --server"},
           Case{answer("502 Bad Gateway", "text/html", page),
                "a proxy in front of it; is the service behind it"},
           Case{answer("503 Service Unavailable", "text/plain", "busy"), "a proxy in front of it"},
           Case{answer("429 Too Many Requests", "text/plain", "slow down"), "is not weir (429"},
           Case{answer("200 OK", "application/json", "{\"items\":7}"),
                "answer cannot be read: \"items\" must be"},
           Case{answer("200 OK", "application/json", "{\"items\":["), "answer cannot be read"},
           Case{answer("200 OK", "application/json", "[]"),
                "answer cannot be read: the answer must be a JSON object"},
           Case{answer("200 OK", "application/json", "{}"), "answer cannot be read: \"items\" is missing"},
           Case{answer("404 Not Found", "application/problem+json", "{}"), "answered 404"},
           Case{answer(
                    "404 Not Found", "application/problem+json",
                    R"({"type":"not-found","status":404,"detail":"there are /livez, /readyz and /metrics"})"),
                "is the admin address of a gateway whose store is elsewhere"},
           Case{answer("503 Service Unavailable", "application/problem+json",
                       R"({"type":"contention","status":503,"detail":"too many\u001b[31m"})"),
                "weir: too many?[31m"},
       }) {
    const Impostor impostor(one.bytes);
    fails("limits list --server " + impostor.url, 1, one.complaint);
  }
}

TEST_F(Server, ThatFailsInTheMiddleOfAChangeLeavesItsOutcomeUnknown) {
  const std::string unknown = "it may or may not have been done: look before you do it again";
  for (const std::string& bytes : {std::string(), answer("504 Gateway Timeout", "text/html", "<html>")}) {
    const Impostor impostor(bytes);
    fails("acquire e r -c rpm=1 --server " + impostor.url, 1, unknown);
    fails("limits set --system -l rpm:5 --server " + impostor.url, 1, unknown);
    shell.in = "system: {limits: {rpm: 5/min}}\n";
  }
}

TEST_F(Server, ThatAdmitsWithoutItsStoreIsAdmittedAndWarnedOf) {
  const std::string body = R"({"allowed":true,"degraded":true,"lease":null,"limits":[]})";
  const Impostor impostor(answer("200 OK", "application/json", body));
  EXPECT_EQ(shell.run("acquire e r -c rpm=1 --lease --server " + impostor.url), 0) << shell.err;
  EXPECT_EQ(shell.out, "admitted\n");
  EXPECT_NE(shell.err.find("nothing was charged"), std::string::npos) << shell.err;
  EXPECT_EQ(shell.run("acquire e r -c rpm=1 -o json --server " + impostor.url), 0);
  EXPECT_EQ(shell.out, body + "\n");
}

TEST_F(Server, ThatSaysNothingIsNotWaitedForForever) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  net::SocketAddress name = net::to_socket(*net::Address::parse("127.0.0.1", 0));
  ASSERT_EQ(::bind(silent, name.pointer(), name.size), 0);
  ASSERT_EQ(::listen(silent, 8), 0);
  ASSERT_EQ(::getsockname(silent, name.pointer(), &name.size), 0);
  const std::string server = " --timeout 20ms --server http://" + net::from_socket(name).to_string();
  fails("limits list" + server, 1,
        "took longer than 20 ms: no answer in time; check --server, or wait longer");
  fails("acquire e r -c rpm=1" + server, 1, "it may or may not have been done");
  ::close(silent);
}

}  // namespace
}  // namespace weir::cli

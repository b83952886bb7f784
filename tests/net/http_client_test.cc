// The client, against servers that answer as they are told to, and against ours.
#include "net/http_client.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "certificates.h"
#include "client.h"
#include "handlers.h"
#include "net/dial.h"
#include "scripted.h"

namespace weir::net {
namespace {

using Kind = HttpFailure::Kind;

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

HttpFailure failure_of(const std::variant<HttpAnswer, HttpFailure>& answered) {
  const auto* const failure = std::get_if<HttpFailure>(&answered);
  if (failure == nullptr) ADD_FAILURE() << "answered " << std::get<HttpAnswer>(answered).status;
  return failure == nullptr ? HttpFailure{} : *failure;
}
HttpAnswer answer_of(std::variant<HttpAnswer, HttpFailure> answered) {
  if (auto* const failure = std::get_if<HttpFailure>(&answered)) {
    ADD_FAILURE() << failure->detail;
    return {};
  }
  return std::get<HttpAnswer>(std::move(answered));
}

TEST(HttpClient, SendsWhatItIsToldAndReadsTheAnswer) {
  std::string seen;
  Scripted server({[&](int client) {
    seen = read_request(client);
    send_text(client,
              "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Here\r\nContent-Type: Text/Html;charset=x\r\n"
              "Location: /there\r\nServer: s\r\nTransfer-Encoding: "
              "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  }});
  HttpClient client(server.options());
  const HttpAnswer answer = answer_of(client.ask(
      {.method = wire::http::Method::put, .target = "/a?b", .fields = "X: y\r\n", .body = "body"}));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.reason, "Not Here");
  EXPECT_EQ(answer.content_type, "text/html");
  EXPECT_EQ(answer.location, "/there");
  EXPECT_EQ(answer.server, "s");
  EXPECT_EQ(answer.body, "abcde");
  EXPECT_EQ(seen, "PUT /a?b HTTP/1.1\r\nHost: " + server.address.to_string() +
                      "\r\nX: y\r\nContent-Length: 4\r\n\r\nbody");
}

TEST(HttpClient, KeepsItsConnection) {
  Scripted server({answering({ok, "HTTP/1.1 204 No Content\r\n\r\n", ok}), answering({ok})});
  HttpClient client(server.options());
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
  EXPECT_EQ(answer_of(client.ask({.method = wire::http::Method::delete_, .target = "/"})).status, 204);
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
  EXPECT_EQ(server.accepted, 1);
  // The server has hung up since: another one.
  EXPECT_EQ(answer_of(client.ask({.target = "/", .repeatable = true})).body, "hi");
  EXPECT_EQ(server.accepted, 2);
}

TEST(HttpClient, DoesNotKeepOneThatSaysMoreThanItWasAsked) {
  Scripted server({answering({ok + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"}), answering({ok})});
  HttpClient client(server.options());
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
}

TEST(HttpClient, ReadsAnAnswerThatEndsWithTheConnection) {
  Scripted server({answering({"HTTP/1.0 200 OK\r\n\r\nuntil the end"}), answering({ok})});
  HttpClient client(server.options());
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "until the end");
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
}

TEST(HttpClient, AsksAgainOnceIfThatIsTheSame) {
  const Scripted::Script deaf = answering({""});
  {
    Scripted server({deaf, answering({ok})});
    HttpClient client(server.options());
    EXPECT_EQ(answer_of(client.ask({.target = "/", .repeatable = true})).body, "hi");
  }
  {
    Scripted server({deaf, deaf, answering({ok})});
    HttpClient client(server.options());
    EXPECT_EQ(failure_of(client.ask({.target = "/", .repeatable = true})).kind, Kind::lost);
    EXPECT_EQ(server.accepted, 2);
  }
  {
    Scripted server({deaf, answering({ok})});
    HttpClient client(server.options());
    const HttpFailure failure = failure_of(client.ask({.method = wire::http::Method::post, .target = "/"}));
    EXPECT_EQ(failure.kind, Kind::lost);
    EXPECT_TRUE(failure.sent);
    EXPECT_EQ(server.accepted, 1);
  }
}

TEST(HttpClient, IsTornInTheMiddleOfAnAnswer) {
  for (const char* const torn : {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    Scripted server({answering({torn})});
    HttpClient client(server.options());
    const HttpFailure failure = failure_of(client.ask({.target = "/"}));
    EXPECT_EQ(failure.kind, Kind::lost) << torn;
    EXPECT_TRUE(failure.sent);
  }
}

TEST(HttpClient, RefusesWhatIsNoAnswer) {
  for (const char* const wrong :
       {"SSH-2.0-OpenSSH\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 20"}) {
    Scripted server({answering({wrong})});
    HttpClient client(server.options());
    EXPECT_EQ(failure_of(client.ask({.target = "/"})).kind, Kind::not_http) << wrong;
  }
}

TEST(HttpClient, ReadsNoMoreThanItIsToldTo) {
  for (const std::string& large :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'a'),
        "HTTP/1.0 200 OK\r\n\r\n" + std::string(101, 'a')}) {
    Scripted server({answering({large})});
    auto options = server.options();
    options.largest_body = 100;
    HttpClient client(options);
    EXPECT_EQ(failure_of(client.ask({.target = "/"})).kind, Kind::too_large) << large;
  }
  Scripted server({answering({"HTTP/1.1 200 OK\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n"})});
  HttpClient client(server.options());
  EXPECT_EQ(failure_of(client.ask({.target = "/"})).kind, Kind::not_http);
}

TEST(HttpClient, GivesUpAfterItsTimeout) {
  const auto until_gone = [](int client) {
    while (!read_request(client).empty()) {
    }
  };
  const auto half = [](int client) {
    read_request(client);
    send_text(client, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi");
    read_request(client);
  };
  Scripted server({until_gone, half});
  HttpClient client(server.options(std::chrono::milliseconds(500)));
  HttpFailure failure = failure_of(client.ask({.target = "/", .repeatable = true}));
  EXPECT_EQ(failure.kind, Kind::slow);
  EXPECT_TRUE(failure.sent);
  failure = failure_of(client.ask({.target = "/"}));
  EXPECT_EQ(failure.kind, Kind::slow);
  EXPECT_EQ(failure.detail, "the answer did not end in time");
}

TEST(HttpClient, EndsTheWholeRequestInTimeAlthoughEachStepIs) {
  Scripted server({[](int client) {
    std::array<char, 4096> bytes{};
    while (::recv(client, bytes.data(), bytes.size(), 0) > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }});
  HttpClient client(server.options());
  const std::string body(30'000'000, 'b');
  const auto sent_at = std::chrono::steady_clock::now();
  const HttpFailure failure = failure_of(client.ask({.method = wire::http::Method::put,
                                                     .target = "/",
                                                     .body = body,
                                                     .within = std::chrono::milliseconds(300)}));
  EXPECT_EQ(failure.kind, Kind::slow);
  EXPECT_TRUE(failure.sent);
  EXPECT_LT(std::chrono::steady_clock::now() - sent_at, std::chrono::seconds(20));
}

TEST(HttpClient, SendsLargeBodiesAndTellsHowFarItIs) {
  const std::string body(3'000'000, 'b');
  Scripted server({[&](int client) {
    EXPECT_TRUE(read_request(client).ends_with(body));
    send_text(client, ok);
  }});
  HttpClient client(server.options());
  std::size_t last = 0;
  HttpRequest request{.method = wire::http::Method::post, .target = "/", .body = body};
  request.progress = [&](std::size_t sent) {
    EXPECT_GT(sent, last);
    last = sent;
  };
  EXPECT_EQ(answer_of(client.ask(request)).status, 200);
  EXPECT_EQ(last, body.size());
}

TEST(HttpClient, HearsAnAnswerThatComesBeforeAllWasSent) {
  const std::string body(20'000'000, 'b');
  Scripted server({[&](int client) {
                     char bytes[100];
                     ASSERT_GT(::recv(client, bytes, sizeof bytes, 0), 0);
                     send_text(client, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
                     while (::recv(client, bytes, sizeof bytes, 0) > 0) {
                     }
                   },
                   answering({ok})});
  HttpClient client(server.options());
  EXPECT_EQ(answer_of(client.ask({.method = wire::http::Method::post, .target = "/", .body = body})).status,
            413);
  // Nothing can follow a request that was cut short.
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).body, "hi");
}

TEST(HttpClient, ReachesNamesAndBothKindsOfAddresses) {
  Scripted v6({answering({ok})}, "::1");
  HttpClient by_v6(v6.options());
  EXPECT_EQ(answer_of(by_v6.ask({.target = "/"})).body, "hi");
  Scripted v4({answering({ok})});
  // Where localhost is ::1 first, nobody listens there.
  HttpClient by_name({.host = "localhost", .port = v4.address.port});
  EXPECT_EQ(answer_of(by_name.ask({.target = "/"})).body, "hi");
  HttpClient nowhere({.host = "no-such-host.invalid"});
  EXPECT_EQ(failure_of(nowhere.ask({.target = "/"})).kind, Kind::no_such_host);
}

TEST(HttpClient, IsRefusedWhereNobodyListens) {
  std::uint16_t port = 0;
  {
    Scripted gone({});
    port = gone.address.port;
  }
  HttpClient client({.host = "127.0.0.1", .port = port});
  const HttpFailure failure = failure_of(client.ask({.method = wire::http::Method::post, .target = "/"}));
  EXPECT_EQ(failure.kind, Kind::refused);
  EXPECT_FALSE(failure.sent);
}

class HttpClientTls : public testing::Test {
 protected:
  HttpClientTls() {
    auto options = test_options();
    options.tls = ours;
    options.listen = {{.address = "127.0.0.1", .tls = true}, {.address = "127.0.0.1"}};
    auto started = Server::start(options, handler);
    if (started) server = std::move(*started);
  }
  void SetUp() override { ASSERT_TRUE(server); }
  HttpClientOptions options(const std::string& host, const std::string& ca_file) const {
    return {.host = host, .port = server->addresses()[0].port, .tls = true, .ca_file = ca_file};
  }

  TemporaryFolder folder;
  TlsFiles ours = make_certificate(folder, "ours");
  TestHandler handler;
  std::unique_ptr<Server> server;
};

TEST_F(HttpClientTls, TalksToWhomItTrusts) {
  HttpClient client(options("localhost", ours.certificate));
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).status, 200);
  EXPECT_EQ(answer_of(client.ask({.target = "/"})).status, 200);
  EXPECT_EQ(server->status().accepted, 1);
}

TEST_F(HttpClientTls, DoesNotTalkToAnybodyElse) {
  const TlsFiles others = make_certificate(folder, "others");
  HttpClient stranger(options("localhost", others.certificate));
  EXPECT_EQ(failure_of(stranger.ask({.target = "/"})).detail, "self-signed certificate");
  HttpClient unknown(options("localhost", ""));
  EXPECT_EQ(failure_of(unknown.ask({.target = "/"})).kind, Kind::tls);
  // The certificate is for the name, not for the address.
  HttpClient other_name(options("127.0.0.1", ours.certificate));
  EXPECT_EQ(failure_of(other_name.ask({.target = "/"})).detail, "IP address mismatch");
  HttpClient no_file(options("localhost", folder.file("missing")));
  EXPECT_NE(failure_of(no_file.ask({.target = "/"})).detail.find("cannot use the certificates in"),
            std::string::npos);
}

TEST_F(HttpClientTls, SaysWhenTheOtherSideSpeaksSomethingElse) {
  auto plain = options("localhost", ours.certificate);
  plain.port = server->addresses()[1].port;
  HttpClient to_plain(plain);
  EXPECT_EQ(failure_of(to_plain.ask({.target = "/"})).detail, "wrong version number");
  auto secure = options("localhost", "");
  secure.tls = false;
  HttpClient to_secure(secure);
  const HttpFailure failure = failure_of(to_secure.ask({.target = "/"}));
  EXPECT_TRUE(failure.kind == Kind::lost || failure.kind == Kind::not_http) << failure.detail;
}

}  // namespace
}  // namespace weir::net

// TLS: the same server behind a certificate, and another certificate while it runs.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "certificates.h"
#include "client.h"
#include "handlers.h"

namespace weir::net {
namespace {

class TlsTest : public testing::Test {
 protected:
  TlsTest() : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    auto options = test_options();
    options.tls = make_certificate(folder, "first");
    options.listen = {{.address = "127.0.0.1", .tls = true}, {.address = "127.0.0.1"}};
    options.timeouts.head = std::chrono::milliseconds(2000);
    auto started = Server::start(options, handler);
    if (started) server = std::move(*started);
  }
  void SetUp() override { ASSERT_TRUE(server); }
  Client connect() {
    Client client(server->addresses()[0]);
    EXPECT_TRUE(client.start_tls(context_.get()));
    return client;
  }
  static std::string organisation(Client& client) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(client.tls()),
                                                                  X509_free);
    char text[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_organizationName, text,
                              sizeof text);
    return text;
  }

  TemporaryFolder folder;
  TestHandler handler;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<Server> server;
};

TEST_F(TlsTest, ServesAsWithoutTlsAndSaysWhichItIs) {
  Client client = connect();
  EXPECT_EQ(client.ask(post("/x", "hello")).body, "POST /x hello tls");
  EXPECT_EQ(client.ask(get("/later")).body, "GET /later  tls");
  ASSERT_TRUE(client.send(get("/1") + get("/2")));
  EXPECT_EQ(client.receive().body, "GET /1  tls");
  EXPECT_EQ(client.receive().body, "GET /2  tls");
  Client plain(server->addresses()[1]);
  EXPECT_EQ(plain.ask(get("/")).body, "GET / ");
}

TEST_F(TlsTest, OffersNoCipherWithoutForwardSecrecyOrWithCbc) {
  const auto connects = [&](const char* ciphers) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> old(SSL_CTX_new(TLS_client_method()),
                                                                SSL_CTX_free);
    SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION);
    SSL_CTX_set_security_level(old.get(), 0);
    EXPECT_EQ(SSL_CTX_set_cipher_list(old.get(), ciphers), 1) << ciphers;
    return Client(server->addresses()[0]).start_tls(old.get());
  };
  EXPECT_TRUE(connects("ECDHE+AESGCM"));
  EXPECT_TRUE(connects("ECDHE+CHACHA20"));
  for (const char* weak : {"kRSA", "ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES256-SHA384",
                           "ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA"})
    EXPECT_FALSE(connects(weak)) << weak;
}

TEST_F(TlsTest, CarriesLargeBodiesBothWays) {
  Client client = connect();
  const std::string body(900'000, 'b');
  EXPECT_TRUE(client.ask(post("/x", body)).body == "POST /x " + body + " tls");
  EXPECT_EQ(client.ask(get("/big?5000000")).body.size(), 5'000'000U);
  EXPECT_TRUE(client.ask(post("/echo", body)).body == body);
}

TEST_F(TlsTest, UsesTheNewCertificateForNewConnectionsOnly) {
  Client before = connect();
  ASSERT_EQ(before.ask(get("/")).status, 200);
  EXPECT_EQ(organisation(before), "first");
  ASSERT_TRUE(server->reload_tls(make_certificate(folder, "second")));
  Client after = connect();
  EXPECT_EQ(organisation(after), "second");
  EXPECT_EQ(after.ask(get("/")).status, 200);
  EXPECT_EQ(before.ask(get("/")).status, 200) << "an open connection goes on";
}

TEST_F(TlsTest, KeepsTheOldCertificateWhenTheNewOneIsBad) {
  const TlsFiles good = make_certificate(folder, "good");
  const auto missing = server->reload_tls({folder.file("none.crt"), good.key});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("none.crt"), std::string::npos);
  EXPECT_FALSE(server->reload_tls({good.certificate, make_certificate(folder, "other").key}));
  Client client = connect();
  EXPECT_EQ(organisation(client), "first");
}

TEST_F(TlsTest, TurnsAwayWhatIsNotTls) {
  Client plain(server->addresses()[0]);
  plain.send(get("/"));
  plain.rest();
  Client half(server->addresses()[0]);
  half.send("\x16\x03\x01");
  half.end_sending();
  half.rest();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/")).status, 200);
}

TEST_F(TlsTest, NeedsACertificateToListen) {
  auto options = test_options();
  options.listen[0].tls = true;
  EXPECT_FALSE(Server::start(options, handler));
}

TEST_F(TlsTest, EndsInGoodOrder) {
  Client client = connect();
  EXPECT_EQ(client.ask(get("/", "Connection: close\r\n")).status, 200);
  EXPECT_EQ(client.rest(), "");
  EXPECT_NE(SSL_get_shutdown(client.tls()) & SSL_RECEIVED_SHUTDOWN, 0) << "the server said that it ends";
  Client idle = connect();
  server->drain(std::chrono::milliseconds(60'000));
  EXPECT_EQ(idle.rest(), "");
  server->wait();
}

// curl as one client that we did not write.
TEST_F(TlsTest, CurlIsServed) {
  if (std::system("command -v curl >/dev/null") != 0) GTEST_SKIP() << "curl is not installed";
  const auto run = [](const std::string& command) {
    std::string output;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return output;
  };
  const std::string plain = "http://" + server->addresses()[1].to_string();
  const std::string secure = "https://" + server->addresses()[0].to_string();
  const std::string curl = "curl -sS --noproxy '*' --max-time 60 ";
  EXPECT_EQ(run(curl + plain + "/a?b=c -d hello"), "POST /a?b=c hello");
  EXPECT_EQ(run(curl + plain + "/x -H 'Transfer-Encoding: chunked' -d hello"), "POST /x hello");
  EXPECT_EQ(run(curl + plain + "/x -H 'Expect: 100-continue' -d hello"), "POST /x hello");
  EXPECT_EQ(run(curl + plain + "/1 " + plain + "/2"), "GET /1 GET /2 ");
  EXPECT_EQ(run(curl + "-0 " + plain + "/x"), "GET /x ");
  EXPECT_NE(run(curl + "-I " + plain + "/x").find("Content-Length: 8"), std::string::npos);
  EXPECT_EQ(run(curl + "-k " + secure + "/later -d hello"), "POST /later hello tls");
  EXPECT_EQ(run(curl + "-k " + secure + "/big?300000 | wc -c"), "300000\n");
}

}  // namespace
}  // namespace weir::net

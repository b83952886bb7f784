// A session between random clients and a handler of random habits. Requests reach the handler in order, their
// answers leave in that order and none without a request, and a session that has ended holds nothing.
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/session_driver.h"
#include "wire/http_body.h"
#include "wire/http_response.h"

namespace {

using namespace weir;
using namespace weir::net;
using Framing = wire::http::Framing;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Random bytes for decisions, from the end of the input; zeros once they are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  unsigned next(unsigned below) {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<unsigned char>(bytes_.back());
    bytes_.remove_suffix(1);
    return value % below;
  }

 private:
  std::string_view bytes_;
};

/// A request in the handler's hands, and what it does with it next.
class Held final : public ExchangeObserver {
 public:
  Held(Exchange exchange, Choices& choices, unsigned number)
      : exchange_(std::move(exchange)),
        choices_(choices),
        number_("X-Number: " + std::to_string(number) + "\r\n") {
    exchange_.observe(this);
    streams_ = exchange_.body().empty() && exchange_.request().body().kind != Framing::Kind::none;
  }
  ~Held() {
    if (exchange_) exchange_.observe(nullptr);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  bool done() const { return !exchange_; }
  /// One step of work. Views of the request must be valid at any time.
  void act() {
    require(!exchange_.request().method_text().empty() && !exchange_.request().path().empty());
    switch (choices_.next(8)) {
      case 0:
      case 1:
        return exchange_.answer({.fields = number_, .body = "whole"});
      case 2:
        return start();
      case 3:
        if (started_) exchange_.write("part", choices_.next(2) == 0 ? Sending::now : Sending::with_next);
        return;
      case 4:
        if (started_) exchange_.finish();
        return;
      case 5:
        if (!started_ && !tunnel_) exchange_.interim(103, "Link: a\r\n");
        return;
      case 6:
        if (choices_.next(4) != 0) return exchange_.read();
        return choices_.next(2) == 0 ? exchange_.abort() : void(exchange_ = {});
      default:
        return exchange_.read();
    }
  }
  void on_body(std::string_view data, bool end) override {
    require(exchange_ && !ended_);
    require(streams_ || tunnel_);
    read_ += data.size();
    ended_ = end;
    const Framing framing = exchange_.request().body();
    if (!tunnel_ && framing.kind == Framing::Kind::length) {
      require(read_ <= framing.length && (!end || read_ == framing.length));
    }
    if (choices_.next(3) != 0) act();
  }
  void on_writable() override {
    require(bool(exchange_));
    if (choices_.next(2) == 0) act();
  }
  void on_gone(const wire::http::Refusal& why) override {
    require(bool(exchange_));
    if (choices_.next(3) == 0) return;
    if (why.status == 0 || started_) {
      exchange_ = {};
    } else {
      exchange_.answer({.status = why.status, .fields = number_});
    }
  }

 private:
  void start() {
    if (started_) return;
    started_ = true;
    tunnel_ = exchange_.request().upgrade() && !streams_ && choices_.next(2) == 0;
    const bool length = !tunnel_ && choices_.next(2) == 0;
    const std::string fields = tunnel_ ? number_ + "Connection: upgrade\r\nUpgrade: x\r\n" : number_;
    exchange_.start({.status = tunnel_ ? 101 : 200,
                     .fields = fields,
                     .length = length ? std::optional<std::uint64_t>(choices_.next(12)) : std::nullopt});
  }

  Exchange exchange_;
  Choices& choices_;
  const std::string number_;
  std::uint64_t read_ = 0;
  bool streams_ = false;
  bool started_ = false;
  bool tunnel_ = false;
  bool ended_ = false;
};

class RandomHandler final : public Handler {
 public:
  Choices* choices = nullptr;
  std::deque<std::unique_ptr<Held>> held;
  std::vector<wire::http::Method> methods;

  BodyPlan plan(const wire::http::RequestHead& request) override {
    const std::string_view path = request.path();
    if (path.ends_with('s')) return {.kind = BodyPlan::Kind::stream};
    if (path.ends_with('r')) return {.kind = BodyPlan::Kind::refuse, .status = 403, .reason = "never"};
    return {};
  }
  void handle(Exchange exchange) override {
    methods.push_back(exchange.request().method());
    const auto number = static_cast<unsigned>(methods.size() - 1);
    held.push_back(std::make_unique<Held>(std::move(exchange), *choices, number));
    if (choices->next(2) == 0) held.back()->act();
  }
  /// Lets one of the requests go on.
  void act() {
    std::erase_if(held, [](const auto& one) { return one->done(); });
    if (!held.empty()) held[choices->next(static_cast<unsigned>(held.size()))]->act();
  }
  void reset(Choices& with) {
    choices = &with;
    held.clear();
    methods.clear();
  }
};

/// The answers are well formed, and those of the handler are in the order of its requests.
void check_answers(std::string_view bytes, const std::vector<wire::http::Method>& methods) {
  std::size_t next = 0;
  while (!bytes.empty()) {
    const auto method = next < methods.size() ? methods[next] : wire::http::Method::get;
    wire::http::ResponseParser parser(wire::http::Limits{});
    wire::http::ResponseHead head;
    const wire::http::Progress progress = parser.parse(bytes, method, head);
    require(progress != wire::http::Progress::failed);
    if (progress == wire::http::Progress::need_more) return;
    bytes.remove_prefix(parser.size());
    const auto number = head.fields().find("x-number");
    if (number) require(next < methods.size() && *number == std::to_string(next));
    if (head.status() == 101) return;
    if (head.status() < 200) continue;
    ++next;
    if (head.body().kind == Framing::Kind::until_close) {
      // Only the handler's writes: no other answer is taken for a part of it.
      return require(bytes.find("HTTP/1.1") == std::string_view::npos);
    }
    wire::http::BodyDecoder body(wire::http::Limits{});
    body.start(head.body(), ~std::uint64_t{0});
    while (!body.complete()) {
      const auto step = body.decode(bytes);
      require(step.progress != wire::http::Progress::failed);
      bytes.remove_prefix(step.consumed);
      if (step.progress == wire::http::Progress::need_more && step.consumed == 0) return;
    }
    if (!head.keep_alive()) require(bytes.empty());
  }
  // One more than the handler saw: the refusal of a request that it did not see.
  require(next <= methods.size() + 1);
}

ServerOptions options(unsigned max_pipelined) {
  ServerOptions options;
  options.max_pipelined = max_pipelined;
  options.max_body = 200;
  options.max_unsent = 300;
  options.limits = {.start_line = 100, .head = 300, .fields = 8, .chunk_extensions = 20, .trailer = 60};
  return options;
}

/// A client that sends `bytes` in pieces, and events of every kind between them.
void play(SessionDriver& client, RandomHandler& handler, Choices& choices, std::string_view bytes) {
  while (!client.closed() && !bytes.empty()) {
    const std::string_view piece = bytes.substr(0, 1 + choices.next(80));
    client.send(piece);
    bytes.remove_prefix(piece.size());
    switch (choices.next(10)) {
      case 0:
      case 1:
      case 2:
        handler.act();
        client.run();
        break;
      case 3:
        client.take(choices.next(200));
        break;
      case 4:
        if (choices.next(8) == 0) client.pass(std::chrono::milliseconds(1000) * choices.next(100));
        break;
      case 5:
        if (choices.next(16) == 0) client.drain();
        break;
      case 6:
        if (choices.next(16) == 0) return client.close();
        break;
      default:
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static RandomHandler handler;
  static IdleWorker one(options(1), handler);
  static IdleWorker four(options(4), handler);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The last third decides, the rest is sent.
  const std::size_t sent = size - size / 3;
  Choices choices(input.substr(sent));
  handler.reset(choices);
  IdleWorker& worker = choices.next(2) == 0 ? one : four;
  {
    SessionDriver client(worker.worker(), choices.next(2) == 0 ? SessionDriver::unlimited : 0);
    play(client, handler, choices, input.substr(0, sent));
    if (choices.next(2) == 0) client.send_end();
    for (int i = 0; i < 100; ++i) {
      handler.act();
      client.run();
    }
    check_answers(client.received(), handler.methods);
    if (client.session().over()) require(client.session().released());
    client.close();
    handler.held.clear();
    require(client.session().released() && client.session().output().empty());
  }
  require(worker.states_in_use() == 0 && worker.buffers_in_use() == 0);
  return 0;
}

// A handler whose answers depend on the path, and that answers when the test says so.
//
//   /204, /304   without a body             /pieces   streamed in two chunks, with a trailer
//   /forget      not at all                 /length   streamed, with a promised length and too many bytes
//   /interim     103 first                  /upload   reads its body as a stream, then answers with it
//   /early       before its body is read    /refuse   refused by the plan
//   /tunnel      101, then echoes           /small    with a body of 4 bytes at most
//   other        with method, target and body
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session_driver.h"

namespace weir::net {

enum class When : std::uint8_t { at_once, in_order, in_reverse, elsewhere };

class SessionHandler final : public Handler {
 public:
  explicit SessionHandler(When when = When::at_once) : when_(when) {}

  /// The requests as they came, each as "METHOD target body".
  std::vector<std::string> seen;
  /// The statuses of on_gone().
  std::vector<int> gone;
  IdleWorker* worker = nullptr;  ///< for answers from elsewhere

  std::size_t held() const { return held_.size(); }
  std::size_t streams() const { return open_streams_; }
  void set_when(When when) { when_ = when; }
  /// Answers one of the held requests: the oldest, or the newest where the order is reversed.
  void release_one() {
    Exchange exchange;
    if (when_ == When::in_reverse) {
      exchange = std::move(held_.back());
      held_.pop_back();
    } else {
      exchange = std::move(held_.front());
      held_.pop_front();
    }
    if (when_ == When::elsewhere && is_plain(exchange.request().path())) {
      worker->elsewhere([&] { act(std::move(exchange)); });
    } else {
      act(std::move(exchange));
    }
  }
  /// The client is gone: drops the requests that would read their body, and answers the others.
  void release_after_gone() {
    while (!held_.empty()) {
      const std::string_view path = held_.front().request().path();
      if (path == "/upload" || path == "/tunnel") {
        held_.pop_front();
      } else {
        release_one();
      }
    }
  }

  BodyPlan plan(const wire::http::RequestHead& request) override {
    const std::string_view path = request.path();
    if (path == "/upload" || path == "/early") return {.kind = BodyPlan::Kind::stream};
    if (path == "/refuse") return {.kind = BodyPlan::Kind::refuse, .status = 403, .reason = "never"};
    if (path == "/small") return {.largest = 4};
    return {};
  }
  void handle(Exchange exchange) override {
    seen.push_back(text_of(exchange));
    if (when_ == When::at_once) return act(std::move(exchange));
    held_.push_back(std::move(exchange));
  }
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override {
    fields.append("X-Refused: yes\r\n");
    body.append(std::to_string(refusal.status));
  }

 private:
  /// Reads a body or a tunnel to its end.
  class Stream final : public ExchangeObserver {
   public:
    static void start(SessionHandler& handler, Exchange exchange) {
      auto* stream = new Stream(handler, std::move(exchange));
      stream->exchange_.observe(stream);
      if (stream->tunnel_) {
        stream->exchange_.start({.status = 101, .fields = "Connection: upgrade\r\nUpgrade: echo\r\n"});
      }
      stream->exchange_.read();
    }
    void on_body(std::string_view data, bool end) override {
      if (!tunnel_) text_ += data;
      const bool room = !tunnel_ || exchange_.write(data);
      if (!end) {
        if (room) exchange_.read();
        return;
      }
      if (tunnel_) {
        exchange_.finish();
      } else {
        const wire::http::Fields& trailers = exchange_.trailers();
        for (std::size_t i = 0; i < trailers.size(); ++i) text_.append(" ").append(trailers[i].value);
        exchange_.answer({.fields = "X-Test: yes\r\n", .body = text_});
      }
      delete this;
    }
    void on_writable() override { exchange_.read(); }
    void on_gone(const wire::http::Refusal& why) override {
      handler_.gone.push_back(why.status);
      if (why.status != 0 && !tunnel_) {
        wire::Buffer fields;
        wire::Buffer body;
        handler_.describe(why, fields, body);
        exchange_.answer({.status = why.status, .fields = fields.view(), .body = body.view()});
      }
      delete this;
    }

   private:
    Stream(SessionHandler& handler, Exchange exchange)
        : handler_(handler),
          exchange_(std::move(exchange)),
          tunnel_(exchange_.request().path() == "/tunnel") {
      ++handler_.open_streams_;
    }
    ~Stream() { --handler_.open_streams_; }

    SessionHandler& handler_;
    Exchange exchange_;
    std::string text_ = "upload ";
    const bool tunnel_;
  };

  static bool is_plain(std::string_view path) {
    return path != "/pieces" && path != "/length" && path != "/interim" && path != "/upload" &&
           path != "/early" && path != "/tunnel";
  }
  static std::string text_of(const Exchange& exchange) {
    std::string text(exchange.request().method_text());
    return text.append(" ").append(exchange.request().target()).append(" ").append(exchange.body());
  }
  void act(Exchange exchange) {
    const std::string_view path = exchange.request().path();
    if (path == "/forget") return;
    if (path == "/204" || path == "/304") return exchange.answer({.status = path == "/204" ? 204 : 304});
    const bool has_body = exchange.request().body().kind != wire::http::Framing::Kind::none;
    if ((path == "/upload" && has_body) || (path == "/tunnel" && exchange.request().upgrade())) {
      return Stream::start(*this, std::move(exchange));
    }
    if (path == "/pieces" || path == "/length") {
      const bool length = path == "/length";
      exchange.start({.length = length ? std::optional<std::uint64_t>(6) : std::nullopt});
      exchange.write("one", Sending::with_next);
      exchange.write("");
      exchange.write(length ? "two and more" : "two");
      return exchange.finish("X-End: yes\r\n");
    }
    if (path == "/interim") exchange.interim(103, "Link: a\r\n");
    const std::string text = text_of(exchange);
    exchange.answer({.fields = "X-Test: yes\r\n", .body = text});
  }

  When when_;
  std::deque<Exchange> held_;
  std::size_t open_streams_ = 0;
};

}  // namespace weir::net

// One connection to one Redis server: connects, greets, pipelines, notices when nothing comes back, and
// connects again. Lives on the thread of its client's loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/entropy.h"
#include "net/breaker.h"
#include "net/redis_call.h"
#include "net/redis_options.h"
#include "net/transport.h"
#include "wire/buffer.h"
#include "wire/resp.h"

namespace weir::net {

class RedisLink {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whom a link tells. All calls are on the loop's thread.
  class Owner {
   public:
    /// The server has accepted us: calls are answered from now on.
    virtual void on_ready(RedisLink& link) = 0;
    /// It cannot be used any more, or not for now. Calls that cannot wait for it fail after this.
    virtual void on_lost(RedisLink& link) = 0;
    /// Something that is no answer.
    virtual void on_push(RedisLink& link, const wire::resp::Reply& push) = 0;
    /// An answer. Whoever is told finishes the call.
    virtual void on_answer(RedisLink& link, RedisCall& call, const wire::resp::Reply& reply) = 0;
    virtual void on_failed(RedisCall& call, const RedisFailure& failure) = 0;
    /// Before and after what one look at the socket brings.
    virtual void before_answers() = 0;
    virtual void after_answers() = 0;

   protected:
    ~Owner() = default;
  };

  /// `first_words`: a command that is sent after each greeting, such as a subscription; may be empty. The
  /// options must outlive the link.
  RedisLink(boost::asio::io_context& context, const RedisOptions& options, RedisAddress address, Owner& owner,
            base::Entropy& entropy, std::string first_words = {});
  ~RedisLink();
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;

  const RedisAddress& address() const { return address_; }
  void connect();
  /// Queues a call; flush() sends what is queued. Without a connection it waits for one, until its deadline.
  void submit(RedisCall& call);
  void flush();
  /// Closes; every call that is left fails.
  void close(const std::string& why);
  /// Looks at deadlines. Often.
  void tick(Clock::time_point now);

  bool ready() const { return stage_ == Stage::ready; }
  /// Whether calls can expect an answer: connected and answering, or only just lost.
  bool hopeful() const { return !breaker_.open(); }
  /// Why it is not ready, or was not last time.
  const std::string& trouble() const { return breaker_.trouble(); }
  bool idle() const { return sent_calls_.empty() && waiting_.empty(); }

 private:
  enum class Stage : std::uint8_t { idle, resolving, connecting, securing, greeting, ready, closed };
  using Descriptor = boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;
  struct Sent {
    RedisCall* call;       ///< null: gave up waiting
    std::uint64_t begins;  ///< how many bytes went before it
  };

  void resolved(const boost::asio::ip::tcp::resolver::results_type& found);
  void try_next_address();
  void connected();
  void drive();
  void secure();
  void greet();
  void greeted(const wire::resp::Reply& reply);
  void become_ready();
  bool read();
  bool write();
  void receive(const wire::resp::Reply& reply);
  void answer(const wire::resp::Reply& reply);
  void fail(const std::string& why);
  void drop_socket();
  void append(RedisCall& call);
  void release_sent(const std::string& why);
  void fail_call(RedisCall& call, const std::string& why);
  void expire(Clock::time_point now);
  void schedule_attempt(Clock::time_point now);
  void release_waiting(const std::string& why);
  void wait_for_read();
  void wait_for_write();

  boost::asio::io_context& context_;
  const RedisOptions& options_;
  const RedisAddress address_;
  Owner& owner_;
  base::Entropy& entropy_;
  const std::string first_words_;

  boost::asio::ip::tcp::resolver resolver_;
  std::vector<boost::asio::ip::tcp::endpoint> addresses_;
  std::unique_ptr<Descriptor> descriptor_;
  std::unique_ptr<Transport> transport_;
  /// Handlers of an earlier socket find that it is not theirs any more.
  std::uint64_t socket_serial_ = 0;
  bool waits_for_read_ = false;
  bool waits_for_write_ = false;
  bool reading_ = false;

  Stage stage_ = Stage::idle;
  bool plain_greeting_ = false;  ///< the server does not know HELLO
  unsigned greetings_left_ = 0;
  Breaker breaker_;  ///< its silence counts while calls wait for an answer
  unsigned attempts_ = 0;
  Clock::time_point attempt_at_;
  Clock::time_point attempt_ends_;

  wire::Buffer input_;
  wire::resp::ReplyReader reader_;
  wire::Buffer output_;
  std::uint64_t queued_bytes_ = 0;   ///< of this connection
  std::uint64_t written_bytes_ = 0;  ///< of this connection
  std::deque<Sent> sent_calls_;      ///< in the order in which answers come
  std::deque<RedisCall*> waiting_;   ///< for a connection
};

}  // namespace weir::net

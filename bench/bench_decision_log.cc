// What the decision log costs, and how fast it is replayed.
//
// Instructions of an admitted acquire through the service without sockets, counted by valgrind in two runs of
// different length, without a log and with one; processor time of the same through sockets, in alternating
// rounds of wrk; and processor time of `weir what-if` for a million decisions that the service has logged.
// `bench_decision_log instructions`, `service` or `replay` measures one of them; `log FILE ACQUIRES` makes
// the log of a replay, for a profiler.
#include <sys/resource.h>

#include <array>

#include "rounds.h"
#include "socketless_service.h"
#include "support/folder.h"
#include "wrk.h"

namespace {

using namespace weir;
using namespace weir::bench;
using decision_log::Keeps;

constexpr std::uint64_t log_size = std::uint64_t{1024} * maxima::mib;

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
std::string weir_program() {
  return (std::filesystem::path(self()).parent_path().parent_path() / "weir").string();
}

/// The output of a command, with its errors.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) std::abort();
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  if (::pclose(pipe) == 0) return text;
  std::fprintf(stderr, "%s\n%s\n", command.c_str(), text.c_str());
  std::exit(1);
}

/// Makes admitted acquires; runs under valgrind.
int acquire(const std::string& mode, std::size_t count) {
  tests::Folder folder;
  const auto at = std::find(decision_log::keeps_names.begin(), decision_log::keeps_names.end(), mode);
  const auto keeps = static_cast<Keeps>(at - decision_log::keeps_names.begin());
  SocketlessService service(std::make_shared<SystemClock>(),
                            {.keeps = keeps, .path = folder.file("log.db"), .most_bytes = log_size});
  service.change("/v1/limits/system", R"({"limits":{"rpm":"100000000/s","tpm":"100000000000/s"}})");
  const std::string request = SocketlessService::request(
      "POST", "/v1/acquire", R"({"entity":"key-1","resource":"gpt-4","consume":{"rpm":1,"tpm":500}})");
  for (std::size_t i = 0; i < count; ++i) {
    if (!service.call(request).starts_with("HTTP/1.1 200")) return 1;
  }
  service.flush();
  if (service.log() != nullptr && service.log()->dropped() != 0) return 2;
  return 0;
}

double instructions_of(const std::string& mode, std::size_t count) {
  const std::string text = output_of("valgrind --tool=callgrind --callgrind-out-file=/dev/null '" + self() +
                                     "' acquire " + mode + " " + std::to_string(count));
  const std::size_t at = text.find("Collected : ");
  if (at == std::string::npos) std::abort();
  return std::stod(text.substr(at + 12));
}

void instructions() {
  if (!installed("valgrind")) return void(std::puts("no count of instructions: it needs valgrind"));
  constexpr std::size_t few = 5'000;
  constexpr std::size_t many = 55'000;
  const auto of_one = [](const std::string& mode) {
    return (instructions_of(mode, many) - instructions_of(mode, few)) / static_cast<double>(many - few);
  };
  const double off = of_one("off");
  std::printf("%-34s %.1f instructions\n", "an admitted acquire without a log", off);
  for (const auto& [mode, bar] :
       {std::pair("refusals", "bar 1.01"), std::pair("all", "the thread of the log included")}) {
    const double with = of_one(mode);
    std::printf("%-34s %.1f instructions, ratio %.4f (%s)\n", (std::string("with mode ") + mode).c_str(),
                with, with / off, bar);
    std::fflush(stdout);
  }
}

/// `weir serve` on a store in memory, with its log in a file.
class Weir {
 public:
  Weir(const std::string& folder, const std::string& mode)
      : port(free_port()),
        process({weir_program(), "serve", "--store", "memory:", "--decision-log", folder + "/" + mode + ".db",
                 "--decision-log-mode", mode, "--listen", "127.0.0.1:" + std::to_string(port)},
                server_core) {
    if (!wait_for(port)) std::exit(1);
    output_of("curl -sf -o /dev/null -X PUT " + url() +
              R"(/v1/limits/system -d '{"limits":{"rpm":"100000000/s","tpm":"100000000000/s"}}')");
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port); }
  /// Of a counter without labels.
  double metric(const std::string& name) const {
    const std::string text = output_of("curl -sf " + url() + "/metrics");
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }
  const int port;
  Process process;
};

void through_the_service() {
  if (!installed("wrk") || !installed("curl"))
    return void(std::puts("no comparison through sockets: it needs wrk and curl"));
  tests::Folder folder;
  write_scripts(folder.path());
  const std::string script = folder.file("post.lua");
  Weir without(folder.path(), "off");
  for (const auto& [mode, bar] : {std::pair("refusals", "no bar here"), std::pair("all", "bar 1.25")}) {
    Weir with(folder.path(), mode);
    Contestant ours{with.process, with.port};
    Contestant rival{without.process, without.port};
    const auto result = duel(9, [&] { return ours.round(script); }, [&] { return rival.round(script); });
    std::printf("%-34s CPU per request %.2f us, without a log %.2f us, ratio %.3f (%s)\n",
                (std::string("mode ") + mode + " through sockets").c_str(), result.ours / 1e3,
                result.rivals / 1e3, result.ratio, bar);
    std::printf("%-34s %.0f rows written, %.0f dropped\n", "", with.metric("weir_decision_log_written_total"),
                with.metric("weir_decision_log_dropped_total"));
    std::fflush(stdout);
  }
}

constexpr std::size_t projects = 20;
constexpr std::size_t keys = 1000;

std::string key_name(std::size_t i) { return "api-key-" + std::to_string(i); }

void describe_clients(SocketlessService& service) {
  service.change("/v1/limits/system", R"({"limits":{"rpm":"18/min","tpm":"40000/min:60000"}})");
  for (std::size_t i = 0; i < projects; ++i)
    service.change("/v1/limits/entity/project-" + std::to_string(i) + "/_default_",
                   R"({"limits":{"tpm":"1750000/min"}})");
  for (std::size_t i = 0; i < keys; ++i)
    service.change("/v1/entities/" + key_name(i),
                   R"({"parent":"project-)" + std::to_string(i % projects) + R"(","cascade":true})");
}

/// Acquires of a thousand clients, a thousand in a second, some of them refused. With `settles`, every
/// admitted one is settled.
void make_log(const std::string& path, std::size_t acquires, bool settles) {
  const auto clock = std::make_shared<FakeClock>();
  SocketlessService service(clock, {.keeps = Keeps::all, .path = path, .most_bytes = log_size});
  describe_clients(service);
  static constexpr std::array<const char*, 3> models = {"gpt-4o", "gpt-4o-mini", "claude-sonnet-4"};
  std::size_t refused = 0;
  for (std::size_t i = 0; i < acquires; ++i) {
    const std::string body = R"({"entity":")" + key_name(i * 7919 % keys) + R"(","resource":")" +
                             models[i % 3] + R"(","consume":{"rpm":1,"tpm":)" +
                             std::to_string(500 + i * 37 % 2500) + "}}";
    const std::string_view answer = service.call(SocketlessService::request("POST", "/v1/acquire", body));
    const std::size_t lease = answer.find(R"("lease":")");
    refused += lease == std::string_view::npos ? 1 : 0;
    if (settles && lease != std::string_view::npos) {
      const std::string_view id = answer.substr(lease + 9, answer.find('"', lease + 9) - lease - 9);
      const std::string target = "/v1/leases/" + std::string(id) + "/settle";
      service.call(SocketlessService::request("POST", target, R"({"actual":{"tpm":700}})"));
    }
    clock->advance(std::chrono::milliseconds(1));
    // The queue is written before it is full, so that no row is dropped.
    if (i % 10'000 == 0) service.flush();
  }
  service.flush();
  std::printf("%-34s %zu acquires, %zu refused, %llu rows written, %llu dropped\n", "a log of the service",
              acquires, refused, static_cast<unsigned long long>(service.log()->written()),
              static_cast<unsigned long long>(service.log()->dropped()));
}

/// Less for each client, and more for the projects.
std::string other_limits() {
  std::string text =
      "system: {limits: {rpm: 15/min, tpm: 36000/min}}\n"
      "resources: {gpt-4o: {limits: {rpm: 12/min, tpm: 24000/min}}}\nentities:\n";
  for (std::size_t i = 0; i < projects; ++i)
    text += "  project-" + std::to_string(i) + ": {limits: {tpm: 2000000/min}}\n";
  return text;
}

double seconds_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/// Replays a log of so many acquires.
void replay(const char* what, std::size_t acquires, bool settles) {
  tests::Folder folder;
  make_log(folder.file("log.db"), acquires, settles);
  write_file(folder.file("limits.yaml"), other_limits());
  const std::string command = "'" + weir_program() + "' what-if '" + folder.file("limits.yaml") +
                              "' --log '" + folder.file("log.db") + "' -o json";
  std::vector<double> rounds;
  std::string text;
  for (int i = 0; i < 5; ++i) {
    const double before = seconds_of_children();
    text = output_of(command);
    rounds.push_back(seconds_of_children() - before);
  }
  const std::size_t at = text.find(R"("total":)");
  const std::size_t end = at == std::string::npos ? at : text.find('}', at) + 1;
  std::printf("%-34s %.2f s of CPU; %s\n", what, median(rounds), text.substr(at, end - at).c_str());
  std::fflush(stdout);
}

void replay() {
  replay("a million acquires (bar 5)", 1'000'000, false);
  replay("half a million, settled", 500'000, true);
  replay("a million, settled", 1'000'000, true);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string part = count > 1 ? arguments[1] : "";
  if (part == "acquire" && count == 4) return acquire(arguments[2], std::stoull(arguments[3]));
  if (part == "log" && count == 4) make_log(arguments[2], std::stoull(arguments[3]), true);
  if (part.empty() || part == "instructions") instructions();
  if (part.empty() || part == "replay") replay();
  if (part.empty() || part == "service") through_the_service();
}

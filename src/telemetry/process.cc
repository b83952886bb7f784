#include "telemetry/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::telemetry {
namespace {

prometheus::MetricFamily family(const char* name, const char* help, bool counter, double value) {
  prometheus::MetricFamily family{name, help, prometheus::MetricType::Gauge, {}};
  prometheus::ClientMetric metric;
  if (counter) {
    family.type = prometheus::MetricType::Counter;
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
  return family;
}

/// /proc/self/stat from the third field on: the fields before may hold spaces.
std::vector<double> stat_fields() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  rest >> state;
  std::vector<double> fields{0};
  for (double value = 0; rest >> value;) fields.push_back(value);
  return fields;
}

/// When the machine was started, in seconds since the epoch.
double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    if (word != "btime") continue;
    double seconds = 0;
    file >> seconds;
    return seconds;
  }
  return 0;
}

}  // namespace

std::vector<prometheus::MetricFamily> process_metrics() {
  std::vector<prometheus::MetricFamily> families;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  // Numbered as in proc(5), less the three that come first.
  constexpr std::size_t user_time = 11, system_time = 12, threads = 17, start = 19, virtual_size = 20,
                        pages = 21;
  const std::vector<double> stat = stat_fields();
  if (stat.size() > pages) {
    families.push_back(family("process_cpu_seconds_total", "User and system CPU time spent, in seconds.",
                              true, (stat[user_time] + stat[system_time]) / ticks));
    families.push_back(family("process_resident_memory_bytes", "Resident memory, in bytes.", false,
                              stat[pages] * static_cast<double>(sysconf(_SC_PAGESIZE))));
    families.push_back(
        family("process_virtual_memory_bytes", "Virtual memory, in bytes.", false, stat[virtual_size]));
    families.push_back(family("process_threads", "Threads of the process.", false, stat[threads]));
    families.push_back(family("process_start_time_seconds",
                              "When the process started, in seconds since the Unix epoch.", false,
                              boot_time() + stat[start] / ticks));
  }
  std::error_code failure;
  std::filesystem::directory_iterator files("/proc/self/fd", failure);
  if (!failure) {
    double open = -1;  // the descriptor of the listing itself
    for (; files != std::filesystem::directory_iterator(); files.increment(failure)) ++open;
    families.push_back(family("process_open_fds", "Open file descriptors.", false, open));
  }
  rlimit most{};
  if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
    families.push_back(family("process_max_fds", "The most file descriptors that may be open.", false,
                              static_cast<double>(most.rlim_cur)));
  }
  return families;
}

}  // namespace weir::telemetry

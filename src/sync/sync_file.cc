#include "sync/sync_file.h"

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/text.h"
#include "config/mapping.h"
#include "limits/names.h"

namespace weir::sync {
namespace {

using config::NodeKind;
using config::Subject;
using config::YamlNode;

constexpr const char* scope_example = "{resource: gpt-4, entities: [acme]}";

/// Turns a tree into settings.
class SyncFileReader {
 public:
  SyncFileReader(const config::YamlTree& tree, config::Problems& problems) : in_(tree, problems) {}

  SyncFile read() {
    constexpr std::uint32_t root = 0;
    constexpr std::array<std::string_view, 10> names{"region",   "regions", "store", "namespace",
                                                     "exchange", "window",  "floor", "clock_spread",
                                                     "least",    "shared"};
    const auto [region, regions, store, name_space, exchange, window, floor, spread, least, shared] =
        in_.fields(root, file_, names, "{region: eu, regions: [eu, us], exchange: /shared, shared: [...]}");
    read_regions(region, regions);
    if (store != 0)
      out_.store = in_.text_of(store, file_, "store", "a store's URL, such as redis://127.0.0.1:6379");
    if (name_space != 0) out_.name_space = in_.text_of(name_space, file_, "namespace", "a namespace");
    if (exchange == 0) {
      in_.problem(in_.place(root),
                  "the file has no exchange; write a folder that every region sees, or "
                  "s3://BUCKET/PREFIX");
    } else {
      out_.exchange =
          in_.text_of(exchange, file_, "exchange", "a folder, or s3://BUCKET/PREFIX").value_or("");
    }
    if (spread != 0) out_.settings.clock_spread = time_of(spread, "clock_spread").value_or(2000);
    if (window != 0) out_.settings.window = time_of(window, "window").value_or(10'000);
    check_window(window);
    if (floor != 0) read_floor(floor);
    if (least != 0) read_least(least);
    if (shared == 0) {
      in_.problem(in_.place(root), "the file shares nothing; write \"shared: [", scope_example,
                  "]\", for example");
    } else {
      read_scopes(shared);
    }
    return std::move(out_);
  }

 private:
  template <class Check>
  std::optional<std::string> name_of(std::uint32_t id, std::string_view what, Check check) {
    auto text = in_.text_of(id, file_, what, "a name");
    if (!text) return std::nullopt;
    if (auto checked = check(*text); !checked) {
      in_.problem(in_.place(id), what, ": ", checked.error().message);
      return std::nullopt;
    }
    return text;
  }
  std::optional<Time> time_of(std::uint32_t id, std::string_view what) {
    const auto text = in_.text_of(id, file_, what, "a length of time, such as 10s");
    if (!text) return std::nullopt;
    const auto time = base::parse_duration(*text);
    if (!time)
      in_.problem(in_.place(id), what, " is ", base::quoted(*text), "; write a length of time, such as 10s");
    return time;
  }
  std::vector<std::uint32_t> list_of(std::uint32_t id, std::string_view what, std::string_view example) {
    if (in_.node(id).kind == NodeKind::list) return in_.elements_of(id);
    in_.problem(in_.place(id), what, " must be a list, such as ", example);
    return {};
  }

  void read_regions(std::uint32_t region, std::uint32_t regions) {
    if (region != 0) out_.settings.region = name_of(region, "region", limits::check_entity).value_or("");
    if (region == 0) in_.problem({}, "the file does not name this region; write \"region: eu\", for example");
    if (regions == 0) {
      in_.problem({}, "the file does not name the regions; write \"regions: [eu, us]\", for example");
      return;
    }
    std::vector<std::string>& all = out_.settings.regions;
    for (const std::uint32_t item : list_of(regions, "regions", "[eu, us]")) {
      auto name = name_of(item, "regions", limits::check_entity);
      if (name && name->find('/') != std::string::npos)
        in_.problem(in_.place(item), "region ", base::quoted(*name),
                    " has a slash; regions are names of folders");
      if (name && std::find(all.begin(), all.end(), *name) != all.end())
        in_.problem(in_.place(item), "region ", base::quoted(*name), " is named twice");
      if (name) all.push_back(*std::move(name));
    }
    std::sort(all.begin(), all.end());
    if (all.size() < 2 || all.size() > most_regions)
      in_.problem(in_.place(regions), "regions must be 2 to ", std::to_string(most_regions), " names");
    if (region != 0 && std::find(all.begin(), all.end(), out_.settings.region) == all.end()) {
      in_.problem(
          in_.place(region), "region ", base::quoted(out_.settings.region), " is not among the regions",
          base::did_you_mean(out_.settings.region, std::vector<std::string_view>(all.begin(), all.end())));
    }
  }

  void check_window(std::uint32_t window) {
    const Time shortest = shortest_window(out_.settings.clock_spread);
    if (out_.settings.window >= shortest && out_.settings.window <= longest_window) return;
    in_.problem(window != 0 ? in_.place(window) : config::FilePosition{}, "window is ",
                std::to_string(out_.settings.window), " ms; with a clock_spread of ",
                std::to_string(out_.settings.clock_spread), " ms use ",
                std::to_string((shortest + 999) / 1000), "s to 1h");
  }

  void read_floor(std::uint32_t id) {
    const auto text = in_.text_of(id, file_, "floor", "whole or share");
    if (!text) return;
    if (*text != "whole" && *text != "share")
      in_.problem(in_.place(id), "floor is ", base::quoted(*text), "; use whole or share");
    out_.settings.floor = *text == "share" ? Floor::share : Floor::whole;
  }

  void read_least(std::uint32_t id) {
    for (const config::MappingEntry& entry : in_.entries(id, Subject{"least"}, "{tpm: 2000}")) {
      const YamlNode* const node = in_.scalar(entry.value, Subject{"least"}, entry.name, "an amount");
      if (node == nullptr) continue;
      const auto amount = Amount::parse(in_.text(*node));
      if (!amount || *amount <= Amount() || !amount->in_range()) {
        in_.problem(node->place, "least of ", base::quoted(entry.name), " is ", base::quoted(in_.text(*node)),
                    "; use an amount above 0");
        continue;
      }
      out_.settings.least.emplace(entry.name, amount->millitokens());
    }
  }

  void read_scopes(std::uint32_t id) {
    for (const std::uint32_t item : list_of(id, "shared", scope_example)) {
      constexpr std::array<std::string_view, 3> names{"resource", "entities", "plan"};
      const auto [resource, entities, plan] =
          in_.fields(item, Subject{"an entry of shared"}, names, scope_example);
      Scope& scope = out_.scopes.emplace_back();
      if (resource == 0)
        in_.problem(in_.place(item), "an entry of shared has no resource; write ", scope_example);
      if (resource != 0) scope.resource = name_of(resource, "resource", limits::check_resource).value_or("");
      if (plan != 0) scope.plan = name_of(plan, "plan", limits::check_plan).value_or("");
      if (entities == 0 && plan == 0)
        in_.problem(in_.place(item), "an entry of shared names no entities; write a list, all, or a plan");
      if (entities != 0) read_entities(entities, scope);
    }
    if (out_.scopes.empty())
      in_.problem(in_.place(id), "shared is empty; write [", scope_example, "], for example");
  }

  void read_entities(std::uint32_t id, Scope& scope) {
    const YamlNode& node = in_.node(id);
    if (node.kind == NodeKind::scalar && in_.text(node) == "all") {
      scope.all = true;
      return;
    }
    for (const std::uint32_t item : list_of(id, "entities", "[acme, globex], or all")) {
      if (auto name = name_of(item, "entities", limits::check_entity))
        scope.entities.push_back(*std::move(name));
    }
  }

  const Subject file_{"the file"};
  config::MappingReader in_;
  SyncFile out_;
};

}  // namespace

Time shortest_window(Time clock_spread) { return (2 * clock_spread + 1000) * 4 / 3; }

Result<SyncFile> read_sync_file(std::string_view text, std::string_view file) {
  config::Problems problems{std::string(file)};
  const auto tree = config::YamlTree::read(text, problems, {});
  if (!tree) return problems.error();
  SyncFile read = SyncFileReader(*tree, problems).read();
  if (!problems.empty()) return problems.error();
  return read;
}

}  // namespace weir::sync

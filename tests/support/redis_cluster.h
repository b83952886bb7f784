// Three nodes of Redis that share all slots.
#pragma once

#include <array>
#include <memory>

#include "support/redis_server.h"

namespace weir::tests {

class RedisCluster {
 public:
  /// `replicas`: one for each of the three, or none.
  explicit RedisCluster(bool replicas = false) {
    const std::size_t count = replicas ? 6 : 3;
    for (std::size_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<RedisServer>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-node-timeout", "1500",
                                   "--cluster-config-file", "nodes.conf", "--appendonly", "no",
                                   "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay",
                                   "0"},
          true));
      nodes_.back()->ask({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    }
    constexpr std::array<const char*, 4> bounds = {"0", "5461", "10923", "16384"};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string last = std::to_string(std::stoi(bounds[i + 1]) - 1);
      nodes_[i]->ask({"CLUSTER", "ADDSLOTSRANGE", bounds[i], last});
    }
    for (std::size_t i = 1; i < count; ++i)
      nodes_[0]->ask({"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->port())});
    wait_for([&](RedisServer& node) {
      return node.ask({"CLUSTER", "INFO"}).find("cluster_known_nodes:" + std::to_string(count)) !=
             std::string::npos;
    });
    for (std::size_t i = 3; i < count; ++i) {
      const std::string primary = nodes_[i - 3]->ask({"CLUSTER", "MYID"});
      // Until it has heard of its primary it refuses.
      for (int patience = 0; patience < 1000; ++patience) {
        if (nodes_[i]->ask({"CLUSTER", "REPLICATE", primary}) == "OK") break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    wait_until_ok();
  }

  std::size_t size() const { return nodes_.size(); }
  RedisServer& node(std::size_t index) { return *nodes_[index]; }
  std::string url() const { return nodes_[0]->url() + "?cluster=true"; }
  std::string patient_url() const { return nodes_[0]->patient_url() + "&cluster=true"; }
  void wait_until_ok() {
    wait_for([](RedisServer& node) {
      return node.ask({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
    });
  }

 private:
  template <class Ready>
  void wait_for(Ready ready) {
    for (int patience = 0; patience < 3000; ++patience) {
      bool all = true;
      for (auto& node : nodes_) all = all && ready(*node);
      if (all) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("the cluster does not come together");
  }

  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace weir::tests

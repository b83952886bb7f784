// Variables and files of a machine that is not there.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "aws/environment.h"

namespace weir::tests {

/// Must outlive the environment that it gives out.
struct Machine {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;

  aws::Environment environment() const {
    return {[this](const std::string& name) { return found(variables, name); },
            [this](const std::string& path) { return found(files, path); }};
  }

 private:
  static std::optional<std::string> found(const std::map<std::string, std::string>& in,
                                          const std::string& name) {
    const auto at = in.find(name);
    return at == in.end() || at->second.empty() ? std::nullopt : std::optional(at->second);
  }
};

}  // namespace weir::tests

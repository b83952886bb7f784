// The file of a decision log, for commands that read it.
#pragma once

#include <memory>
#include <string>

#include "decision_log/file_blocks.h"
#include "decision_log/reader.h"
#include "weir/result.h"

namespace weir::cli {

class DecisionFile {
 public:
  static Result<DecisionFile> open(const std::string& path);
  /// The log of a process that serves this store and was not told another place for it.
  static Result<DecisionFile> of_store(const std::string& store_url);

  decision_log::DecisionReader reader() const { return {*blocks_, blocks_->id(), path_}; }
  const std::string& path() const { return path_; }

 private:
  DecisionFile(std::string path, std::unique_ptr<decision_log::FileBlocks> blocks)
      : path_(std::move(path)), blocks_(std::move(blocks)) {}

  std::string path_;
  std::unique_ptr<decision_log::FileBlocks> blocks_;
};

}  // namespace weir::cli

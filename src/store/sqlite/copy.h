// Reads and writes the content of a file, for copies between stores.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "store/copy.h"

namespace weir::sqlite {

/// Opens a file that no process has open, and keeps others away. Waits up to `patience` for the one that has
/// it open. A file of an earlier version must be migrated first.
Result<std::unique_ptr<store::CopyReader>> open_copy_reader(const std::string& path,
                                                            std::chrono::milliseconds patience);
/// The same to write it. Creates a missing file.
Result<std::unique_ptr<store::CopyWriter>> open_copy_writer(const std::string& path,
                                                            std::chrono::milliseconds patience);

}  // namespace weir::sqlite

// Reads every record of a file. The caller keeps other processes away.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/copy.h"
#include "store/sqlite/database.h"
#include "store/sqlite/file_reader.h"

namespace weir::sqlite {

/// Not safe for concurrent use.
class FileCopyReader {
 public:
  /// Both connections are to the same file.
  FileCopyReader(std::unique_ptr<Database> records, std::unique_ptr<Database> names)
      : database_(std::move(names)), reader_(std::move(records)) {}

  Result<store::CopySettings> settings();
  Result<void> read(const store::CopyScope& scope, const store::CopyPages::Visit& visit);

 private:
  using Texts = std::vector<std::string>;
  Result<Texts> texts(const char* sql, std::string_view bound);
  static Result<void> read_catalog(const std::string& name_space, const table::Tenant& tenant,
                                   store::CopyPages& pages);
  Result<void> read_buckets(const std::string& name_space, store::CopyPages& pages);
  Result<void> read_usage(const std::string& name_space, store::CopyPages& pages);
  Result<void> read_audit(const std::string& name_space, store::CopyPages& pages);
  Result<void> read_leases(const Texts& namespaces, store::CopyPages& pages);
  Result<void> add_lease(const table::Nonce& nonce, const Texts& namespaces, store::CopyPages& pages);

  const std::unique_ptr<Database> database_;
  FileReader reader_;
  /// The namespace of each bucket, by its generation: the row of a lease does not have it.
  std::unordered_map<std::uint64_t, std::string> namespace_of_;
};

}  // namespace weir::sqlite

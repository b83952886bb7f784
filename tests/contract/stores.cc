#include <cstdlib>
#include <filesystem>

#include "contract/contract.h"

namespace weir::contract {
namespace {

/// A store inside this process. It lives in the limiter that opened it, so every limiter is a new one.
class InProcess final : public StoreUnderTest {
 public:
  explicit InProcess(std::string url) : url_(std::move(url)) {}
  Result<Limiter> open(const Options& options) override {
    Options with_clock = options;
    with_clock.clock = &clock_;
    return Limiter::open(url_, with_clock);
  }
  void advance(std::chrono::milliseconds by) override { clock_.advance(by); }
  Time now() override { return clock_.now(); }

 private:
  std::string url_;
  FakeClock clock_;
};

/// A folder that goes with its owner.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-contract-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A file. Limiters on it share it.
class InFile final : public StoreUnderTest {
 public:
  Result<Limiter> open(const Options& options) override { return store_.open(options); }
  void advance(std::chrono::milliseconds by) override { store_.advance(by); }
  Time now() override { return store_.now(); }

 private:
  Folder folder_;
  InProcess store_{"sqlite:" + folder_.path() + "/weir.db"};
};

}  // namespace

std::vector<StoreKind> stores() {
  return {{"memory", [] { return std::make_unique<InProcess>("memory:"); }},
          {"sqlite", [] { return std::make_unique<InFile>(); }}};
}

}  // namespace weir::contract

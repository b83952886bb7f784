// The log: its ring, its ids, its searches.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "decision_log/decisions.h"
#include "decision_log/file_blocks.h"
#include "support/folder.h"

namespace weir::decision_log {
namespace {

/// In memory and in a file.
class Log : public Decisions, public testing::WithParamInterface<bool> {
 protected:
  DecisionLogOptions options() const { return {.path = GetParam() ? folder.file("log.db") : std::string()}; }
  std::vector<std::string> list(const Filter& filter, std::size_t limit = 1000) {
    std::vector<std::string> ids;
    Paging paging{.cursor = {}, .limit = limit};
    for (int pages = 0; pages < 10'000; ++pages) {
      auto page = log->list(filter, paging);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) break;
      for (const Entry& entry : page->items) ids.push_back(entry.id);
      if (page->next.empty()) return ids;
      paging.cursor = page->next;
    }
    ADD_FAILURE() << "the listing does not end";
    return ids;
  }

  tests::Folder folder;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Log, testing::Bool(),
                         [](const auto& parameter) { return parameter.param ? "file" : "memory"; });

TEST_P(Log, FindsADecisionByItsId) {
  open(options());
  const std::string first = decide("key-1", {{"tpm", 1000}});
  const std::string second = decide("key-2", {{"tpm", 900}});
  const auto entry = log->find(second, "default");
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->id, second);
  EXPECT_EQ(entry->entity, "key-2");
  EXPECT_EQ(entry->outcome, EntryOutcome::refused);
  EXPECT_EQ(entry->wait, 35'000);
  EXPECT_EQ(log->find(first, "default")->outcome, EntryOutcome::admitted);
  EXPECT_EQ(log->find(first, "other").error().code, ErrorCode::not_found) << "of another namespace";
  EXPECT_EQ(log->written(), 2U);
  EXPECT_EQ(log->dropped(), 0U);
}

TEST_P(Log, SaysWhereADecisionIsThatIsNotHere) {
  open(options());
  EXPECT_NE(log->find(log->id() + "-9", "default").error().message.find("the log is empty"),
            std::string::npos);
  const std::string first = decide("key-1", {{"rpm", 1}});
  const Error missing = log->find(log->id() + "-99", "default").error();
  EXPECT_EQ(missing.code, ErrorCode::not_found);
  EXPECT_NE(missing.message.find("the log begins at 2023-11-14T22:13:20Z with " + first), std::string::npos)
      << missing.message;
  const Error elsewhere = log->find("00000000-1", "default").error();
  EXPECT_EQ(elsewhere.code, ErrorCode::not_found);
  EXPECT_NE(elsewhere.message.find("decision_log=00000000"), std::string::npos) << elsewhere.message;
  EXPECT_NE(elsewhere.message.find("this log is " + log->id()), std::string::npos);
  for (const char* const wrong :
       {"", "key-7", "00000000", "00000000-", "0000000g-1", "00000000-0", "00000000-x"})
    EXPECT_EQ(log->find(wrong, "default").error().code, ErrorCode::invalid_argument) << wrong;
}

TEST_P(Log, ListsNewestFirstInPages) {
  open(options());
  std::vector<std::string> ids;
  for (int i = 0; i < 300; ++i) {
    ids.insert(ids.begin(), decide(i % 2 == 0 ? "key-1" : "key-2", {{"rpm", 1}}));
    clock.advance(std::chrono::seconds(1));
    if (i % 7 == 0) log->flush();
  }
  for (const std::size_t limit : {1U, 7U, 1000U}) EXPECT_EQ(list({}, limit), ids) << limit;
  EXPECT_EQ(log->list({}, {.cursor = "x"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(log->list({}, {.cursor = {}, .limit = 0}).error().code, ErrorCode::invalid_argument);
}

TEST_P(Log, FiltersByEveryProperty) {
  open(options());
  const Time start = clock.now();
  const std::string admitted = decide("key-1", {{"tpm", 1000}});
  clock.advance(std::chrono::seconds(1));
  const std::string refused = decide("key-2", {{"tpm", 900}});
  clock.advance(std::chrono::seconds(1));
  const std::string other = decide("key-3", {{"rpm", 1}});
  const std::string elsewhere = decide("key-3", {{"rpm", 1}}, "staging");
  using Ids = std::vector<std::string>;
  EXPECT_EQ(list({}), (Ids{other, refused, admitted}));
  EXPECT_EQ(list({.name_space = "staging"}), Ids{elsewhere});
  EXPECT_EQ(list({.entity = "key-2"}), Ids{refused});
  EXPECT_EQ(list({.entity = "project"}), Ids{});
  EXPECT_EQ(list({.chain = "project"}), (Ids{refused, admitted}));
  EXPECT_EQ(list({.resource = "gpt-5"}), Ids{});
  EXPECT_EQ(list({.outcome = EntryOutcome::refused}), Ids{refused});
  EXPECT_EQ(list({.from = start + 1000, .to = start + 2000}), Ids{refused});
  EXPECT_EQ(log->list({.from = 5, .to = 5}, {}).error().code, ErrorCode::invalid_argument);
}

TEST_P(Log, DropsAndCountsWhenTheQueueIsFull) {
  DecisionLogOptions small = options();
  small.most_waiting = 1000;
  open(small);
  for (int i = 0; i < 100; ++i) decide("key-1", {{"rpm", 1}});
  EXPECT_GT(log->dropped(), 0U);
  log->flush();
  EXPECT_EQ(log->written() + log->dropped(), 100U);
  const std::uint64_t before = log->dropped();
  decide("key-1", {{"rpm", 1}});
  log->flush();
  EXPECT_EQ(log->dropped(), before) << "there is room again";
}

TEST_P(Log, ForgetsWhatIsTooOld) {
  DecisionLogOptions short_lived = options();
  short_lived.keep_for = std::chrono::hours(1);
  open(short_lived);
  const std::string old = decide("key-1", {{"rpm", 1}});
  log->flush();
  // A block of its own, since the age of a block is that of its last row.
  for (int i = 0; i < 400; ++i) decide("key-1", {{"rpm", 0}});
  log->flush();
  clock.advance(std::chrono::hours(2));
  const std::string young = decide("key-1", {{"rpm", 1}});
  log->flush();
  for (int i = 0; i < 400; ++i) decide("key-1", {{"rpm", 0}});
  log->flush();
  EXPECT_FALSE(log->find(old, "default"));
  EXPECT_TRUE(log->find(young, "default"));
}

TEST_P(Log, StaysBelowItsSizeHoweverManyRowsItGets) {
  DecisionLogOptions small = options();
  small.most_bytes = least_bytes;
  open(small);
  const std::vector<Charge> charges = {{"rpm", 0}, {"tpm", 0}};
  const auto decision = limiter.acquire("key-1", "gpt-4", charges);
  std::string last;
  for (int turn = 0; turn < 50; ++turn) {
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t number = log->next_number();
      log->add(number, record_of(*decision, "key-1", charges));
      last = log->id_of(number);
    }
    log->flush();
    std::uintmax_t size = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) size += file.file_size();
    ASSERT_LE(size, least_bytes) << turn;
  }
  EXPECT_EQ(log->written(), 25'000U);
  EXPECT_EQ(log->dropped(), 0U);
  EXPECT_LE(log->bytes(), least_bytes);
  EXPECT_TRUE(log->find(last, "default"));
  EXPECT_GT(list({}).size(), 3000U) << "the space is used";
}

TEST_P(Log, TakesRowsFromManyThreads) {
  DecisionLogOptions usual = options();
  usual.write_every = std::chrono::milliseconds(1);
  auto opened = DecisionLog::open(usual, clock, entropy);
  ASSERT_TRUE(opened);
  log = *std::move(opened);
  const std::vector<Charge> charges = {{"rpm", 0}};
  const auto decision = limiter.acquire("key-1", "gpt-4", charges);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) log->add(log->next_number(), record_of(*decision, "key-1", charges));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list({}).size(), 4000U);
  for (std::uint64_t number = 1; number <= 4000; number += 97)
    EXPECT_TRUE(log->find(log->id_of(number), "default")) << number;
}

class DecisionLogFile : public Decisions {
 protected:
  tests::Folder folder;
};

TEST_F(DecisionLogFile, KeepsItsIdAndItsRowsOverARestart) {
  open({.path = folder.file("log.db")});
  const std::string before = log->id();
  const std::string first = decide("key-1", {{"rpm", 1}});
  open({.path = folder.file("log.db")});
  EXPECT_EQ(log->id(), before);
  const std::string second = decide("key-1", {{"rpm", 1}});
  EXPECT_NE(first, second);
  EXPECT_TRUE(log->find(first, "default"));
  EXPECT_TRUE(log->find(second, "default"));
}

TEST_F(DecisionLogFile, GivesSpaceBackWhenItsSizeIsSetToLess) {
  open({.path = folder.file("log.db"), .most_bytes = 8 * least_bytes});
  const std::vector<Charge> charges = {{"rpm", 0}, {"tpm", 0}};
  const auto decision = limiter.acquire("key-1", "gpt-4", charges);
  std::string last;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t number = log->next_number();
    log->add(number, record_of(*decision, "key-1", charges));
    last = log->id_of(number);
    if (i % 10'000 == 0) log->flush();
  }
  log->flush();
  EXPECT_GT(log->bytes(), 2 * least_bytes);
  open({.path = folder.file("log.db"), .most_bytes = least_bytes});
  std::uintmax_t size = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) size += file.file_size();
  EXPECT_LE(size, least_bytes);
  EXPECT_GT(log->bytes(), least_bytes / 2);
  EXPECT_TRUE(log->find(last, "default"));
}

TEST_F(DecisionLogFile, BelongsToOneProcessAndCanBeReadByOthers) {
  open({.path = folder.file("log.db")});
  const std::string id = decide("key-1", {{"rpm", 1}});
  log->flush();
  const auto second = DecisionLog::open({.path = folder.file("log.db")}, clock, entropy);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("each process has its own"), std::string::npos)
      << second.error().message;
  const auto reader = FileBlocks::open_to_read(folder.file("log.db"));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(DecisionReader(**reader, (*reader)->id(), folder.file("log.db")).find(id, "default"));
  struct stat found{};
  ASSERT_EQ(::stat(folder.file("log.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U) << "names of clients are nobody else's";
}

TEST_F(DecisionLogFile, KnowsTheLogsOfOtherProcessesBesideIt) {
  open({.path = folder.file("other.db")});
  log->set_place("http://127.0.0.1:8081");
  const std::string id = decide("key-1", {{"rpm", 1}});
  open({.path = folder.file("log.db")});
  const Error error = log->find(id, "default").error();
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_NE(error.message.find("ask http://127.0.0.1:8081, or read its file " + folder.file("other.db")),
            std::string::npos)
      << error.message;
}

TEST_F(DecisionLogFile, ThatIsSomethingElseIsNotTouched) {
  std::ofstream(folder.file("notes.txt")) << "not a database, and long enough to be looked at";
  EXPECT_FALSE(FileBlocks::open_to_read(folder.file("notes.txt")));
  EXPECT_FALSE(FileBlocks::open_to_read(folder.file("missing.db")));
  EXPECT_FALSE(DecisionLog::open({.path = folder.file("notes.txt")}, clock, entropy));
  EXPECT_FALSE(DecisionLog::open({.path = folder.file("no/such/folder.db")}, clock, entropy));
  auto limits = Limiter::open("sqlite:" + folder.file("weir.db"), {.clock = &clock});
  ASSERT_TRUE(limits);
  const auto store = FileBlocks::open_to_read(folder.file("weir.db"));
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("is not a decision log"), std::string::npos) << store.error().message;
}

TEST_F(DecisionLogFile, ShipsLinesOfJson) {
  open({.lines = folder.file("lines")});
  const std::string first = decide("key-1", {{"tpm", 1000}});
  log->flush();
  const std::string second = decide("key-2", {{"tpm", 900}});
  log->flush();
  std::filesystem::rename(folder.file("lines"), folder.file("lines.1"));
  ASSERT_TRUE(log->reopen_lines());
  const std::string third = decide("key-2", {{"tpm", 900}});
  log->flush();
  const auto lines_of = [](const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> ids;
    for (std::string line; std::getline(file, line);) {
      EXPECT_EQ(line.substr(0, 7), R"({"id":")");
      ids.push_back(line.substr(7, line.find('"', 7) - 7));
    }
    return ids;
  };
  EXPECT_EQ(lines_of(folder.file("lines.1")), (std::vector<std::string>{first, second}));
  EXPECT_EQ(lines_of(folder.file("lines")), std::vector<std::string>{third});
}

TEST_F(DecisionLogFile, ALineReaderThatStallsHoldsNobodyUp) {
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  open({.lines = path, .most_waiting = 64 * maxima::kib, .line_patience = std::chrono::milliseconds(0)});
  std::vector<std::string> ids;
  // More lines than a pipe and the queue hold.
  for (int i = 0; i < 2000; ++i) {
    ids.push_back(decide("key-1", {{"rpm", 1}}));
    if (i % 50 == 0) log->flush();
  }
  EXPECT_TRUE(log->find(ids.back(), "default")) << "who reads the log does not wait for the lines";
  EXPECT_EQ(log->written(), 2000U);
  EXPECT_GT(log->lines_lost(), 0U);
  std::string text;
  char bytes[65536];
  for (ssize_t got = 1; got > 0; log->flush()) {
    got = ::read(reader, bytes, sizeof bytes);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
  }
  std::istringstream lines(text);
  std::size_t whole = 0;
  for (std::string line; std::getline(lines, line); ++whole) {
    ASSERT_TRUE(line.starts_with(R"({"id":")") && line.ends_with("}")) << line;
  }
  EXPECT_EQ(whole + log->lines_lost(), 2000U) << "each line is whole, or lost and counted";
  ::close(reader);
  decide("key-1", {{"rpm", 1}});
  const std::uint64_t lost = log->lines_lost();
  log->flush();
  EXPECT_EQ(log->lines_lost(), lost + 1) << "nobody reads any more";
}

TEST_F(DecisionLogFile, TellsACallerOfOneNamespaceNothingOfOthers) {
  open({.path = folder.file("other.db")});
  log->set_place("http://127.0.0.1:8081");
  const std::string elsewhere = decide("key-1", {{"rpm", 1}});
  open({.path = folder.file("log.db")});
  const std::string id = decide("key-1", {{"rpm", 1}}, "tenant");
  EXPECT_NE(log->find(id, "default").error().message.find("say --namespace tenant"), std::string::npos)
      << log->find(id, "default").error().message;
  for (const std::string& asked : {id, elsewhere, log->id() + "-999999"}) {
    const Error error = log->find(asked, "default", Audience::one_namespace).error();
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_EQ(error.message,
              "there is no decision " + asked +
                  " of namespace default here: another process made it, or it was not kept, or no "
                  "longer; ask the process that answered");
  }
  EXPECT_TRUE(log->find(id, "tenant", Audience::one_namespace));
}

}  // namespace
}  // namespace weir::decision_log

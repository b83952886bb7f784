// Rows as bytes, and back.
#include "decision_log/row.h"

#include "decision_log/decisions.h"
#include "decision_log/entry_json.h"
#include "decision_log/settings.h"

namespace weir::decision_log {
namespace {

class Row : public Decisions {
 protected:
  static std::string row_of(const Record& record, std::uint64_t number = 7) {
    std::string bytes;
    append_row(bytes, number, record);
    return bytes;
  }
  static Entry read(std::string_view bytes) {
    const auto head = take_row(bytes);
    EXPECT_TRUE(head);
    auto entry = head ? read_entry(*head) : std::nullopt;
    EXPECT_TRUE(entry);
    return entry ? *std::move(entry) : Entry{};
  }
};

TEST_F(Row, KeepsEverythingOfARefusal) {
  const std::vector<Charge> charges = {{"rpm", 1}, {"tpm", Amount::milli(900'500)}};
  ASSERT_TRUE(limiter.acquire("key-2", "gpt-4", charges));
  const auto refused = limiter.acquire("key-1", "gpt-4", charges);
  ASSERT_TRUE(refused && refused->refused());
  Entry entry = read(row_of(record_of(*refused, "key-1", charges)));
  entry.id = "00000000-7";
  EXPECT_EQ(entry.report.size(), refused->limits().size());
  for (std::size_t i = 0; i < entry.report.size(); ++i) {
    const LimitStatus read_back = entry.report[i], was = refused->limits()[i];
    EXPECT_EQ(read_back.entity, was.entity);
    EXPECT_EQ(read_back.resource, was.resource);
    EXPECT_EQ(read_back.name, was.name);
    EXPECT_EQ(read_back.capacity, was.capacity);
    EXPECT_EQ(read_back.burst, was.burst);
    EXPECT_EQ(read_back.requested, was.requested);
    EXPECT_EQ(read_back.remaining, was.remaining);
    EXPECT_EQ(read_back.exceeded, was.exceeded);
    EXPECT_EQ(read_back.retry_after, was.retry_after);
    EXPECT_EQ(read_back.window, was.window);
    EXPECT_EQ(read_back.source, was.source);
    EXPECT_EQ(read_back.version, was.version);
    EXPECT_GT(was.version, 0);
  }
  EXPECT_EQ(
      to_json(entry),
      R"({"id":"00000000-7","at":"2023-11-14T22:13:20Z","at_ms":1700000000000,"kind":"acquire",)"
      R"("outcome":"refused","namespace":"default","entity":"key-1","resource":"gpt-4",)"
      R"("request_id":"request-1","consume":{"rpm":1,"tpm":900.5},"retry_after_ms":30050,)"
      R"("never_fits":false,"passes_at":"2023-11-14T22:13:50.050Z",)"
      R"("refused_by":[{"entity":"project","name":"tpm","source":"entity"}],)"
      R"("limits":)" +
          [&] {
            const std::string json = to_json(entry);
            return json.substr(json.find("\"limits\":") + 9);
          }());
}

TEST_F(Row, KeepsTheRestOfARecord) {
  const auto limits = parse_limits({{"rpm", "5/10s:7:shadow"}, {"calls", "3:concurrent"}});
  ASSERT_TRUE(limits);
  const std::vector<Charge> charges = {{"usd", Amount::milli(-125)}};
  const Entry entry = read(row_of({.at = 5,
                                   .kind = EntryKind::adjust,
                                   .name_space = "staging",
                                   .charges = charges,
                                   .every = Amount::milli(1500),
                                   .sent_limits = *limits,
                                   .wait = std::nullopt,
                                   .never_fits = true,
                                   .from_memory = true,
                                   .keyed = true,
                                   .shadow = true,
                                   .no_debt = true,
                                   .lease_for = 60'000,
                                   .lease = ~std::uint64_t{0},
                                   .more = R"({"blocked":true})"}));
  EXPECT_EQ(entry.kind, EntryKind::adjust);
  EXPECT_EQ(entry.name_space, "staging");
  EXPECT_EQ(entry.charges, (std::vector<std::pair<std::string, Amount>>{{"usd", Amount::milli(-125)}}));
  EXPECT_EQ(entry.every, Amount::milli(1500));
  EXPECT_EQ(entry.sent_limits, *limits);
  EXPECT_FALSE(entry.wait);
  EXPECT_TRUE(entry.never_fits && entry.from_memory && entry.keyed && entry.shadow && entry.no_debt);
  EXPECT_EQ(entry.lease_for, 60'000);
  EXPECT_EQ(entry.lease, ~std::uint64_t{0});
  EXPECT_EQ(entry.more, R"({"blocked":true})");
}

TEST_F(Row, ThatIsCutIsNoRow) {
  const std::vector<Charge> charges = {{"rpm", 1}};
  const auto decision = limiter.acquire("key-1", "gpt-4", charges);
  const std::string whole = row_of(record_of(*decision, "key-1", charges));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string_view bytes(whole.data(), size);
    EXPECT_FALSE(take_row(bytes)) << size;
  }
  // A body that is cut inside a row of the right length is found, too.
  std::string_view bytes = whole;
  auto head = take_row(bytes);
  ASSERT_TRUE(head);
  for (std::size_t size = 0; size < head->rest.size(); ++size) {
    RowHead cut = *head;
    cut.rest = head->rest.substr(0, size);
    EXPECT_FALSE(read_entry(cut)) << size;
  }
}

TEST(DecisionLogSettings, AreReadFromText) {
  EXPECT_EQ(*parse_size("s", "64MB"), std::uint64_t{64} << 20U);
  EXPECT_EQ(*parse_size("s", "2GB"), std::uint64_t{2} << 30U);
  EXPECT_EQ(*parse_size("s", "2048KB"), std::uint64_t{2} << 20U);
  for (const char* const wrong :
       {"", "64", "MB", "1.5GB", "64 MB", "-1MB", "1023KB", "0MB", "9999999GB", "64mb"})
    EXPECT_FALSE(parse_size("s", wrong)) << wrong;
  EXPECT_EQ(*parse_keeps("k", "all"), Keeps::all);
  EXPECT_NE(parse_keeps("k", "refusal").error().message.find("did you mean \"refusals\"?"),
            std::string::npos);
  EXPECT_EQ(path_beside("sqlite:a/weir.db"), "a/weir.db-decisions");
  EXPECT_EQ(path_beside("redis://127.0.0.1:6379"), "");
}

}  // namespace
}  // namespace weir::decision_log

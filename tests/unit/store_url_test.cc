#include "app/store_url.h"

#include <gtest/gtest.h>

#include "app/url.h"

namespace weir::app {
namespace {

std::string wrong(std::string_view text) {
  const auto url = parse_store_url(text);
  return url ? "fine" : url.error().message;
}

TEST(StoreUrl, OfAnUnknownStoreIsGuessed) {
  EXPECT_EQ(wrong("weir.db"), R"(store "weir.db" is not known; did you mean "sqlite:weir.db"?)");
  EXPECT_EQ(wrong("./a/b"), R"(store "./a/b" is not known; did you mean "sqlite:./a/b"?)");
  EXPECT_EQ(wrong("redis:localhost:6379"),
            R"(store "redis:localhost:6379" is not known; did you mean "redis://localhost:6379"?)");
  EXPECT_EQ(wrong("dynamodb:limits"),
            R"(store "dynamodb:limits" is not known; did you mean "dynamodb://limits"?)");
  EXPECT_NE(wrong("postgres://x").find("use sqlite:PATH"), std::string::npos);
  EXPECT_NE(wrong("sqlite").find("use sqlite:PATH"), std::string::npos);
}

TEST(StoreUrl, OfAFileIsNotInTheRootFolderByMistake) {
  EXPECT_EQ(
      wrong("sqlite://weir.db"),
      R"(store "sqlite://weir.db" has two slashes before its path; use sqlite:weir.db, or sqlite:/PATH for a )"
      "path from the root folder");
  EXPECT_EQ(wrong("sqlite:///var/weir.db"), "fine");
  EXPECT_EQ(wrong("sqlite:/var/weir.db"), "fine");
}

TEST(StoreUrl, OfRedisHasEverythingThatAServerNeeds) {
  const auto url = parse_store_url(
      "rediss://me:p%40ss@[::1]:7000/3?prefix=a:b&deadline_ms=9&cache_ms=8&refuse_ms=0&cacert=/a%20b+c");
  ASSERT_TRUE(url) << url.error().message;
  const RedisUrl& redis = url->redis;
  EXPECT_TRUE(redis.tls);
  EXPECT_EQ(redis.user + " " + redis.password + " " + redis.host, "me p@ss ::1");
  EXPECT_EQ(redis.port, 7000);
  EXPECT_EQ(redis.database, 3);
  EXPECT_EQ(redis.prefix, "a:b");
  EXPECT_EQ(redis.deadline, std::chrono::milliseconds(9));
  EXPECT_EQ(redis.refuse, std::chrono::milliseconds(0));
  EXPECT_EQ(redis.authorities, "/a b+c");
  const auto plain = parse_store_url("redis://h/");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->redis.port, 6379);
  EXPECT_EQ(plain->redis.database, 0);
}

TEST(StoreUrl, SaysWhatIsWrongWithoutThePassword) {
  EXPECT_EQ(wrong("redis://"), "the URL of the store: it names no host; write redis://HOST:PORT");
  EXPECT_EQ(wrong("rediss://a:x"), "the URL of the store: a port is 1 to 65535");
  EXPECT_EQ(wrong("redis://:secret@a:0"), "the URL of the store: a port is 1 to 65535");
  EXPECT_NE(wrong("redis://me@a").find("has a user but no password"), std::string::npos);
  EXPECT_NE(wrong("redis://a/x").find("database \"x\""), std::string::npos);
  EXPECT_NE(wrong("redis://a?prefx=1").find("did you mean"), std::string::npos);
  EXPECT_NE(wrong("redis://a?prefix=%4").find("prefix in the URL of the store has a broken % escape"),
            std::string::npos);
  EXPECT_NE(wrong("redis://a/1?cluster=true").find("only database 0"), std::string::npos);
  EXPECT_NE(wrong("dynamodb://t").find("3 to 255"), std::string::npos);
  EXPECT_NE(wrong("dynamodb://table?endpoint=http://a:0").find("a port is 1 to 65535"), std::string::npos);
  EXPECT_EQ(wrong("dynamodb://table?region=eu-central-1&&endpoint=http://127.0.0.1:8000"), "fine");
}

TEST(StoreUrl, IsShownWithoutItsPassword) {
  EXPECT_EQ(without_password("redis://me:a@b@h:1/2"), "redis://me:***@h:1/2");
  EXPECT_EQ(without_password("redis://h:1/2?x=a@b"), "redis://h:1/2?x=a@b");
  EXPECT_EQ(without_password("sqlite:weir.db"), "sqlite:weir.db");
  EXPECT_EQ(without_password("sqlite:/data/a:b@c.db"), "sqlite:/data/a:b@c.db");
  EXPECT_EQ(without_password("memory:"), "memory:");
  EXPECT_EQ(without_password("dynamodb://T?endpoint=http://127.0.0.1:8000"),
            "dynamodb://T?endpoint=http://127.0.0.1:8000");
  EXPECT_EQ(without_password("redis://[::1]:6379/0"), "redis://[::1]:6379/0");
  EXPECT_EQ(without_password("redis://h:6379"), "redis://h:6379");
  EXPECT_EQ(without_password("redis://h"), "redis://h");
}

constexpr const char* with_passwords[] = {
    "redis://me:hunter2@h:1/2",
    "REDIS://me:hunter2@h:1/2",
    "Rediss://:hunter2@h",
    "rediss://me:hunter2@h?cluster=true",
    "redis://me:a/hunter2@h:1",
    "redis://me:a?hunter2@h:1",
    "redis://me:a#hunter2@h:1",
    "redis://me:1/hunter2@h:1",
    "redis://me:1?hunter2@h:1",
    "redis://me:1?prefix=hunter2@h:1",
    "redis://me:a@b/hunter2@h:1",
    "redis://me:a@b?hunter2@h:1",
    "redis://me:hunter2",
    "redis://:hunter2",
    "redis://me:hunter2/0",
    "redis://hunter2@h",
    "redis://me%3Ahunter2@h",
    "redis://me:hunter2%40h",
    "redis://me:x%2Fhunter2@h",
    "redis%3A%2F%2Fme%3Ahunter2%40h",
    "redis:me:hunter2@h",
    "redis:/me:hunter2@h",
    "redis:hunter2@h",
    "Redis:me:hunter2@h",
    "rediss:me:hunter2@h",
    "me:hunter2@h:6379",
    "hunter2@h:6379",
    "valkey://me:hunter2@h",
    "postgres://me:hunter2@h/db",
    "dynamodb://me:hunter2@table",
    "DYNAMODB://me:hunter2@table",
    "dynamodb://table?endpoint=http://me:hunter2@h:8000",
    "dynamodb://table?endpoint=http%3A%2F%2Fme%3Ahunter2%40h",
    "redis://h?password=hunter2",
    "redis://h?prefix=a&auth=hunter2",
};

TEST(StoreUrl, NeverShowsItsPasswordInAnySpelling) {
  for (const char* const url : with_passwords) {
    EXPECT_EQ(without_password(url).find("hunter2"), std::string::npos) << without_password(url);
    EXPECT_EQ(wrong(url).find("hunter2"), std::string::npos) << wrong(url);
  }
}

TEST(StoreUrl, SaysHowToWriteAPasswordWithASlash) {
  for (const char* const url : {"redis://me:1/2@h", "redis://me:1?2@h", "redis://me:a@b/c@h"}) {
    EXPECT_NE(wrong(url).find("write / as %2F, ? as %3F and @ as %40"), std::string::npos) << wrong(url);
  }
  EXPECT_EQ(wrong("redis://me:a@b@h"), "fine");
  EXPECT_EQ(wrong("rediss://me:a@h?cacert=/a%40b"), "fine");
}

TEST(StoreUrl, OfDynamoDbBeyondThisMachineNeedsTls) {
  for (const char* const host : {"http://10.0.0.9:8000", "http://dynamo.example", "http://127.evil.example",
                                 "http://localhost.evil.example"}) {
    const std::string url = std::string("dynamodb://table?endpoint=") + host;
    EXPECT_NE(wrong(url).find("insecure=true"), std::string::npos) << wrong(url);
    EXPECT_EQ(wrong(url + "&insecure=true"), "fine");
    EXPECT_EQ(wrong("dynamodb://table?insecure=true&endpoint=" + std::string(host)), "fine");
    EXPECT_NE(wrong(url + "&insecure=false").find("insecure=true"), std::string::npos);
    EXPECT_NE(wrong(url + "&insecure=yes").find("use true or false"), std::string::npos);
  }
  for (const char* const host : {"http://127.0.0.1:8000", "http://127.9.9.9", "http://[::1]:8000",
                                 "http://localhost:8000", "https://dynamo.example"})
    EXPECT_EQ(wrong(std::string("dynamodb://table?endpoint=") + host), "fine") << host;
}

}  // namespace
}  // namespace weir::app

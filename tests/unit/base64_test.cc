#include "base/base64.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weir::base {
namespace {

std::string url_of(std::string_view bytes) {
  std::string text;
  append_base64url(text, bytes);
  return text;
}

TEST(Base64, IsTheOneOfTheStandard) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {"\xfb\xff", "+/8="},
                                                                    {"\xff\xff\xff", "////"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* bad :
       {"Zg", "Zg=", "Z===", "====", "=", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm9-", "Zm9v===="})
    EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
}

TEST(Base64, InUrlsHasLettersOfItsOwnAndNoPadding) {
  const std::vector<std::pair<std::string, std::string>> vectors = {
      {"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"\xfb\xff", "-_8"}, {"\xff\xff\xff", "____"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(url_of(bytes), text);
    EXPECT_EQ(from_base64url(text), bytes);
  }
  for (const char* bad : {"Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm9+", "Zm9/", "Zm9v\n"})
    EXPECT_EQ(from_base64url(bad), std::nullopt) << bad;
}

TEST(Base64, IsTheInverseOfItselfForEveryByteAndLength) {
  std::string bytes;
  for (unsigned i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    EXPECT_EQ(from_base64url(url_of(bytes)), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

}  // namespace
}  // namespace weir::base

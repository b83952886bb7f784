// Checks of what is said.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace weir::sync {

inline void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* const word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
}

}  // namespace weir::sync

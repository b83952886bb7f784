# How every file of weir is compiled: C++20, strict warnings, sanitizers when asked for.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(weir_compile INTERFACE)
target_compile_features(weir_compile INTERFACE cxx_std_20)
target_compile_options(weir_compile INTERFACE
  # The same text for every clone, so that a compiler cache serves all of them.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  # Designated initialisers name what they set; the rest has its defaults.
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # Where several files are one, clang takes the names that one has for itself for those of the next.
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<STREQUAL:${WEIR_UNITY},ALL>>:-Wno-shadow>
  # g++ stops inlining in a large unit that has grown by two fifths. Where several files are one, that would be
  # before it comes to functions of a few instructions: 700 more for each request of the gateway.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>,$<BOOL:${WEIR_UNITY}>>:--param=large-unit-insns=200000>
  # g++ 12 warns falsely about the concatenation of strings.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # At -O1, which the tests are compiled with, it also warns falsely about the value of an empty std::optional.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Release>>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${WEIR_WERROR}>:-Werror>)

if(WEIR_FUZZ)
  target_compile_options(weir_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_compile INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(weir_compile INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()

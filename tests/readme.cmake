# The example in the README is the program in examples/, to the letter.
cmake_path(GET CMAKE_SCRIPT_MODE_FILE PARENT_PATH folder)
file(READ ${folder}/../README.md readme)
file(READ ${folder}/../examples/quickstart.cc example)
string(FIND "${readme}" "```cpp\n${example}```" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/quickstart.cc as it is; copy it there")
endif()
message(STATUS "README.md shows examples/quickstart.cc")

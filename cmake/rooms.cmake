# One target per room of the house. A room sees its own headers and those of the rooms it names in
# DEPENDS, and nothing else: each room's headers are linked into a directory of their own under the
# build tree, and only the directories of its dependencies are on a room's include path. So an include
# that points outward does not compile (tests/house shows it).

set(WEIR_ROOMS "" CACHE INTERNAL "every room of the library, in the order of definition")
set(WEIR_PROGRAM_ROOMS "" CACHE INTERNAL "every room that only programs use")

# weir_room(store/table DEPENDS store limits SOURCES a.cc b.cc LIBRARIES OpenSSL::Crypto)
# PROGRAM: a room of our programs, not part of the library that others embed.
function(weir_room room)
  cmake_parse_arguments(arg "PROGRAM" "" "DEPENDS;SOURCES;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" name ${room})
  set(target weir_${name})
  set(folder ${PROJECT_SOURCE_DIR}/src/${room})
  set(view ${PROJECT_BINARY_DIR}/rooms/${name})

  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  file(REMOVE_RECURSE ${view})
  file(MAKE_DIRECTORY ${view}/${room})
  foreach(header ${headers})
    get_filename_component(file ${header} NAME)
    file(CREATE_LINK ${header} ${view}/${room}/${file} SYMBOLIC)
  endforeach()

  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND ${folder}/)
    add_library(${target} OBJECT ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weir_compile> ${arg_LIBRARIES})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/include ${view})
  foreach(dependency ${arg_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} ${scope} weir_${dependency})
  endforeach()
  if(arg_PROGRAM)
    set(WEIR_PROGRAM_ROOMS ${WEIR_PROGRAM_ROOMS} ${target} CACHE INTERNAL "")
  else()
    set(WEIR_ROOMS ${WEIR_ROOMS} ${target} CACHE INTERNAL "")
  endif()
endfunction()

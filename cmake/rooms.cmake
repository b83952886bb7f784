# One target per room of the house. Each room's headers are linked into a directory of their own under the build
# tree, and only the directories of its dependencies are on a room's include path. So an include that points
# outward does not compile.
#
# A room names every room that its files include. DEPENDS: its headers include them, so that rooms further out can
# compile those headers (PUBLIC). USES: only its .cc files include them (PRIVATE). The compiler also finds what the
# headers of a dependency need; tests/house checks that a room includes no room that it does not name.

set(WEIR_ROOMS "" CACHE INTERNAL "every room of the library, in the order of definition")
set(WEIR_PROGRAM_ROOMS "" CACHE INTERNAL "every room that only programs need")

# weir_room(store/table DEPENDS store limits USES base SOURCES a.cc b.cc LIBRARIES OpenSSL::Crypto)
# PROGRAM: a room that only programs need. It is kept out of the library, so that embedders do not link its
# LIBRARIES; a program names it beside weir_internal: target_link_libraries(p PRIVATE weir_internal weir_config)
function(weir_room room)
  cmake_parse_arguments(arg "PROGRAM" "" "DEPENDS;USES;SOURCES;LIBRARIES" ${ARGN})
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
  foreach(dependency ${arg_USES})
    string(REPLACE "/" "_" dependency ${dependency})
    target_link_libraries(${target} PRIVATE weir_${dependency})
  endforeach()
  set_property(TARGET ${target} PROPERTY WEIR_ROOM ${room})
  set_property(TARGET ${target} PROPERTY WEIR_NAMES ${arg_DEPENDS} ${arg_USES})
  if(arg_PROGRAM)
    set(WEIR_PROGRAM_ROOMS ${WEIR_PROGRAM_ROOMS} ${target} CACHE INTERNAL "")
  else()
    set(WEIR_ROOMS ${WEIR_ROOMS} ${target} CACHE INTERNAL "")
  endif()
endfunction()

# Writes the Lua scripts of a room into a header: cmake -DOUT=scripts.h -DNAMESPACE=weir::redis -DSCRIPTS=a.lua;b.lua
# -P embed_lua.cmake. The comments stay: they are what MONITOR and SLOWLOG show first.
set(text "// Made from the .lua files beside this room's sources.\n#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n")
foreach(script ${SCRIPTS})
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} body)
  string(APPEND text "\ninline constexpr std::string_view ${name}_lua = R\"lua(${body})lua\";\n")
endforeach()
string(APPEND text "\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")

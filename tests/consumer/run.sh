#!/usr/bin/env bash
# Builds examples/quickstart.cc as a program outside the project would, and runs it.
#   run.sh KIND SOURCE_DIR BUILD_DIR
# KIND: find_package, pkg_config   with weir installed from BUILD_DIR
#       shared                     both of these, with weir built as a shared library first
#       add_subdirectory           with weir's sources as a part of the program's build
# An installed tree is moved before it is used: it must not remember where it was.
set -euo pipefail
[[ $# -eq 3 ]] || { sed -n '2,8p' "$0"; exit 2; }
kind=$1 source=$2 build=$3
cmake=${CMAKE:-cmake} cxx=${CXX:-g++}
quickstart=$source/examples/quickstart.cc
# Whether it can be built and used does not depend on how well it is compiled.
quickly=(-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DWEIR_UNITY=ALL)
work=$build/consumer/$kind
prefix=$work/moved
rm -rf "$work"
mkdir -p "$work"

# install_from BUILD_DIR: leaves weir installed in $prefix.
install_from() {
  "$cmake" --install "$1" --prefix "$work/installed"
  mv "$work/installed" "$prefix"
  if grep -rF -e "$source/" -e "$work/installed" "$prefix" --include='*.cmake' --include='*.pc'; then
    echo "the installed files above name a directory of the build" >&2
    exit 1
  fi
}

# build_with_cmake OPTION...: configures, builds and runs the project beside this script.
build_with_cmake() {
  "$cmake" -S "$source/tests/consumer/project" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release "${quickly[@]}" \
    -DCMAKE_CXX_COMPILER="$cxx" -DQUICKSTART="$quickstart" "$@"
  "$cmake" --build "$work/cmake" -j 2
  "$work/cmake/quickstart"
}

build_with_pkg_config() {
  local flags pc
  pc=$(find "$prefix" -name weir.pc)
  export PKG_CONFIG_PATH=${pc%/*}
  read -ra flags <<<"$(pkg-config --cflags --libs weir)"
  "$cxx" -std=c++20 "$quickstart" "${flags[@]}" -o "$work/quickstart"
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir weir) "$work/quickstart"
}

case $kind in
  find_package)
    install_from "$build"
    build_with_cmake -DCMAKE_PREFIX_PATH="$prefix"
    ;;
  pkg_config)
    install_from "$build"
    build_with_pkg_config
    ;;
  shared)
    # Beside BUILD_DIR and with its flags, so that a compiler cache has every file that was compiled for it.
    shared=${build%/*}/consumer-shared
    rm -rf "$shared"
    (cd "$source" && "$cmake" --preset dev -B "$shared" -DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_COMPILER="$cxx" \
      -DWEIR_PROGRAMS=OFF -DWEIR_TESTS=OFF -DWEIR_BENCH=OFF -DWEIR_EXAMPLES=OFF)
    "$cmake" --build "$shared" -j 2
    install_from "$shared"
    build_with_cmake -DCMAKE_PREFIX_PATH="$prefix"
    build_with_pkg_config
    ;;
  add_subdirectory)
    build_with_cmake -DWEIR_SOURCE="$source"
    ;;
  *)
    echo "unknown kind: $kind" >&2
    exit 2
    ;;
esac

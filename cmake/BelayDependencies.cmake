# Everything Belay is built from, found in one place. `bootstrap` installs all of it.

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto>=3.0)  # AES-GMAC by EVP_MAC
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(SQUASHFS REQUIRED IMPORTED_TARGET libsquashfs1)
find_path(HPDF_INCLUDE_DIR hpdf.h REQUIRED)  # libharu brings no description of itself
find_library(HPDF_LIBRARY hpdf REQUIRED)
find_file(DEJAVU_SANS DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu REQUIRED)
find_file(DEJAVU_SANS_BOLD DejaVuSans-Bold.ttf PATHS /usr/share/fonts/truetype/dejavu /usr/share/fonts/dejavu REQUIRED)

# Whether GoogleTest is there is asked each time: it may come after the first build.
option(BELAY_TESTS "Build the tests, where GoogleTest is installed" ON)
if(BELAY_TESTS)
  find_package(GTest QUIET)
  set(BELAY_TESTS ${GTest_FOUND})
endif()
if(BELAY_TESTS)
  include(GoogleTest)
endif()

# DuckDB: its C header and its library come from npm (see bootstrap); a system DuckDB is taken when there is one. The
# library is loaded when a command first needs it, so it is no link dependency.
set(BELAY_NODE_MODULES ${CMAKE_SOURCE_DIR}/packages/npm/run/node_modules)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
  set(duckdb_platform linux-arm64)
else()
  set(duckdb_platform linux-x64)
endif()
find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS ${BELAY_NODE_MODULES}/duckdb/src/duckdb/src/include REQUIRED)
find_file(DUCKDB_LIBRARY NAMES libduckdb.so
  HINTS ${BELAY_NODE_MODULES}/@duckdb/node-bindings-${duckdb_platform} PATHS /usr/local/lib /usr/lib REQUIRED)
add_library(belay_duckdb INTERFACE)
target_include_directories(belay_duckdb SYSTEM INTERFACE ${DUCKDB_INCLUDE_DIR})
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
file(CREATE_LINK ${DUCKDB_LIBRARY} ${CMAKE_BINARY_DIR}/lib/libduckdb.so SYMBOLIC)

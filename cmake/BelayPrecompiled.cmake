# belay_use_precompiled(target): what most files include from outside is compiled once for all of the target's files.
# belay_use_precompiled_for_tests(target): the same with GoogleTest, for the programs of unit tests.
#
# A header belongs here if most files include it and if it is cheap where it is not used: the compiler instantiates what
# the inline functions of a precompiled header use anew in every file (BelayJson.cmake: what that costs with JSON, and why it
# costs nothing here). Headers of ours do not belong here: every change of one would compile everything.
# A file includes what it needs all the same: the presets asan, tsan and fuzz and clang-tidy work without.

set(precompiled_headers <algorithm> <array> <cerrno> <chrono> <cmath> <csignal> <cstdint> <cstdio> <cstdlib> <cstring>
  <expected> <filesystem> <functional> <limits> <map> <memory> <optional> <set> <span> <string> <string_view> <utility>
  <vector> <fmt/format.h> <nlohmann/json.hpp>)

# The owners must be compiled as their users are: GCC compares the options that matter and -Winvalid-pch reports them.
function(belay_precompiled_owner name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE belay_options fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

belay_precompiled_owner(belay_precompiled ${precompiled_headers})
if(BELAY_TESTS)
  belay_precompiled_owner(belay_precompiled_for_tests ${precompiled_headers} <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(belay_precompiled_for_tests PRIVATE belay_test_options GTest::gmock)
endif()

function(belay_use_precompiled target)
  target_precompile_headers(${target} REUSE_FROM belay_precompiled)
endfunction()

function(belay_use_precompiled_for_tests target)
  target_precompile_headers(${target} REUSE_FROM belay_precompiled_for_tests)
endfunction()

# belay_module(NAME [ONCE] [DIRECTORY dir] [TOGETHER suite] [USES targets...] [ALONE files...]): the library belay_NAME from every
# *.cpp of the folder, and, where tests are built, the program NAME_test from every *_test.cpp, one ctest entry per case, named
# module.case. The target unit_tests builds all of those programs.
#   ONCE      its code runs once per command, and not once per row or byte: compiled with -O1, which costs the compiler a fifth less.
#   TOGETHER  the suite has hundreds of short cases, and starting a program for each would cost more than they do: one ctest entry
#             in eight parts.
#   ALONE     files that are compiled by themselves. All others, with the preset release, and all tests are compiled four at a time,
#             which takes a third off what they cost. That cannot be where a helper has the name of another file's, nor where a class
#             of a header holds a type of the file's unnamed namespace: GCC warns of that outside of the main file
#             (-Wsubobject-linkage). The presets debug, asan and tsan compile each file by itself.
# belay_libraries_of(variable file) lists the modules that file includes.

add_custom_target(unit_tests)

add_library(belay_options INTERFACE)
# The same in libraries and programs, with threads and without, so that all can share precompiled headers.
target_compile_options(belay_options INTERFACE -fPIC -pthread)
target_compile_options(belay_options INTERFACE -Wall -Wextra -Wpedantic -Wno-missing-field-initializers)
# A warning of a compiler that nobody here has tried must not stop a site from building: only the presets say so.
if(BELAY_WARNINGS_ARE_ERRORS)
  target_compile_options(belay_options INTERFACE -Werror)
endif()
# What is installed must not tell where it was built.
target_compile_options(belay_options INTERFACE -ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
# GCC 12 sees uninitialised memory in every std::expected of an std::optional that it inlines; the sanitizers look for real ones.
target_compile_options(belay_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# GCC 12's own std::stable_sort uses what C++23 deprecates, which Clang reports where it is instantiated.
target_compile_options(belay_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
target_include_directories(belay_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
include(BelayJson)
target_include_directories(belay_options SYSTEM BEFORE INTERFACE ${belay_json_directory})
if(BELAY_SANITIZE)
  target_compile_options(belay_options INTERFACE -fsanitize=${BELAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_definitions(belay_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(belay_options INTERFACE -fsanitize=${BELAY_SANITIZE})
endif()
if(BELAY_FUZZ)
  target_compile_options(belay_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
# One file of ours fits in this memory (KiB): the compiler saves a tenth of its time where it does not clean up before.
target_compile_options(belay_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=600000>)
# ccache can only keep what used a precompiled header if the preprocessor says so in its output.
target_compile_options(belay_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)

# Matchers are templates that run once: compiling them costs half as much without optimisation.
add_library(belay_test_options INTERFACE)
target_compile_options(belay_test_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-O0>)

include(BelayPrecompiled)

function(belay_module name)
  cmake_parse_arguments(MODULE "ONCE" "DIRECTORY;TOGETHER" "USES;ALONE" ${ARGN})
  if(NOT MODULE_DIRECTORY)
    set(MODULE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${MODULE_DIRECTORY}/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${MODULE_DIRECTORY}/*_test.cpp)
  list(REMOVE_ITEM sources ${tests} ${MODULE_DIRECTORY}/main.cpp)
  add_library(belay_${name} STATIC ${sources})
  list(TRANSFORM MODULE_ALONE PREPEND ${MODULE_DIRECTORY}/)
  set_source_files_properties(${MODULE_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(belay_${name} PUBLIC belay_options ${MODULE_USES})
  if(MODULE_ONCE)
    target_compile_options(belay_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
  if(MODULE_USES) # else it is made of libc only
    belay_use_precompiled(belay_${name})
  endif()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${MODULE_DIRECTORY})
  set_property(GLOBAL PROPERTY "belay_module_of ${folder}" belay_${name})
  if(BELAY_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE belay_${name} belay_test_options GTest::gmock GTest::gtest_main)
    belay_use_precompiled_for_tests(${name}_test)
    set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
    # LD_LIBRARY_PATH: AddressSanitizer's dlopen does not see the program's RUNPATH.
    set(one_by_one "*")
    if(MODULE_TOGETHER)
      set(one_by_one "-${MODULE_TOGETHER}.*")
      foreach(part RANGE 7)
        add_test(NAME ${MODULE_TOGETHER}.part_${part} COMMAND ${name}_test --gtest_brief=1 --gtest_filter=${MODULE_TOGETHER}.*)
        set_tests_properties(${MODULE_TOGETHER}.part_${part} PROPERTIES TIMEOUT 1800 LABELS unit
          ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/lib;GTEST_TOTAL_SHARDS=8;GTEST_SHARD_INDEX=${part}")
      endforeach()
    endif()
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 600 TEST_FILTER ${one_by_one}
      PROPERTIES TIMEOUT 1200 LABELS unit ENVIRONMENT LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/lib)
    add_dependencies(unit_tests ${name}_test)
  endif()
endfunction()

# An include "a/b/c.h" belongs to the module of the folder a/b, or else of a.
function(belay_libraries_of variable file)
  set(libraries "")
  file(STRINGS ${file} includes REGEX "^#include \"")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"(.*)/[^/]*\".*" "\\1" folder "${include}")
    while(folder)
      get_property(library GLOBAL PROPERTY "belay_module_of ${folder}")
      if(library)
        list(APPEND libraries ${library})
        break()
      endif()
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
  endforeach()
  list(REMOVE_DUPLICATES libraries)
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

# belay_embed(TARGET symbol file): the bytes of file as `extern "C" const char symbol[], symbol_end[]`.
function(belay_embed target symbol file)
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.S)
  file(WRITE ${assembly}.in ".section .rodata\n.global ${symbol}\n.global ${symbol}_end\n${symbol}:\n.incbin \"${file}\"\n${symbol}_end:\n.byte 0\n.section .note.GNU-stack,\"\",%progbits\n")
  file(COPY_FILE ${assembly}.in ${assembly} ONLY_IF_DIFFERENT)
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${assembly})
endfunction()

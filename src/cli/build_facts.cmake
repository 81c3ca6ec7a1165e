# Writes build_facts.cpp, but touches it only if something in it has changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "cli/build_facts.h"

namespace belay::cli {

const std::string_view kVersion = "@VERSION@";
const std::string_view kCommit = "@commit@";
const std::string_view kCompiler = "@COMPILER@";

}  // namespace belay::cli
]])

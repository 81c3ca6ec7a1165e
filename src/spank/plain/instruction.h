// Reading an instruction file (wire.h), which belay-step has written as the user.
#pragma once

#include "spank/plain/wire.h"

namespace belay::spank {

struct Instruction {
    InstructionKind kind;
    const char* name;       // of a variable
    const char* value;      // of a variable that is set or offered
    const char* directory;  // in which the task starts in its container
};

// Takes the first instruction off the text that lies before `end`, where a NUL must be; a variable is cut in
// two in place. Nothing, or what is wrong.
const char* take_instruction(char*& text, const char* end, Instruction& instruction);

}  // namespace belay::spank

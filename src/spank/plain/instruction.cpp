#include "spank/plain/instruction.h"

#include <cstring>

namespace belay::spank {

const char* take_instruction(char*& text, const char* end, Instruction& instruction) {
    char* argument = text + 1;
    size_t length = strlen(text);
    if (text + length >= end) return "the instructions are cut off";
    text += length + 1;
    instruction = {};
    if (length == 0) return "an empty instruction";
    instruction.kind = static_cast<InstructionKind>(argument[-1]);
    switch (instruction.kind) {
        case kSetVariable:
        case kOfferVariable: {
            char* equals = strchr(argument, '=');
            if (equals == nullptr) return "a variable without a value";
            *equals = '\0';
            instruction.value = equals + 1;
            [[fallthrough]];
        }
        case kUnsetVariable:
            instruction.name = argument;
            return argument[0] == '\0' ? "a variable without a name" : nullptr;
        case kJoinContainer:
            instruction.directory = argument;
            return nullptr;
        case kSupervise:
            return nullptr;
        default:
            return "an instruction that the plugin does not know: is belay-step of another version?";
    }
}

}  // namespace belay::spank

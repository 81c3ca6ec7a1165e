// What the Slurm plugin reads of bytes that users have a hand in: a task's instructions, and the start of a
// plan. Whatever they are, it reads them once, in their bounds, and understands what was meant.
#include "many_parsers.h"
#include "spank/plain/instruction.h"
#include "spank/plain/plan.h"

#include <cstring>
#include <string>

namespace {

using namespace belay::spank;

std::string written_again(const Instruction& instruction) {
    std::string text(1, static_cast<char>(instruction.kind));
    if (instruction.name != nullptr) text += instruction.name;
    if (instruction.value != nullptr) text += std::string("=") + instruction.value;
    if (instruction.directory != nullptr) text += instruction.directory;
    return text + '\0';
}

void feed_instructions(std::string_view bytes) {
    std::string text(bytes);
    char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        size_t start = static_cast<size_t>(at - text.data());
        Instruction instruction{};
        if (take_instruction(at, end, instruction) != nullptr) return;
        size_t next = static_cast<size_t>(at - text.data());
        require(next > start && next <= text.size());
        std::string again = written_again(instruction);
        // Of kSupervise only the letter counts.
        if (instruction.kind == kSupervise) again.resize(1);
        require(bytes.substr(start, again.size()) == again);
    }
}

void feed_plan(std::string_view bytes) {
    std::string text(bytes);
    long seconds = plan_seconds(text.c_str());
    require(seconds >= 0 && seconds <= kMostSeconds);
    std::string start = std::string(text.c_str()).substr(0, 15);
    if (begins_like_plan(text.c_str()) && start.find('{') != std::string::npos)
        require(begins_like_plan(start.c_str()) && seconds == plan_seconds(start.c_str()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    void (*const parsers[])(std::string_view) = {feed_instructions, feed_plan};
    feed_one_of(parsers, data, size);
    return 0;
}

// Any text in place of sacct's answer: runs with the facts they must have, or a refusal that says why.
#include "slurm/sacct.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto runs = slurm::parse_sacct(text);
    if (!runs) {
        if (runs.error().kind() != core::ErrorKind::kSystem || runs.error().message().empty()) abort();
        return 0;
    }
    for (const slurm::JobEnd& run : *runs) {
        if (run.state.empty() || run.state.find('\n') != std::string::npos) abort();
        if (run.is_over() && run.exit_signal && !run.exit_code) abort();
        if (run.memory && run.memory->size.bytes == 0) abort();
        if (run.time_limit && run.time_limit <= core::Duration(0)) abort();
    }
    return 0;
}

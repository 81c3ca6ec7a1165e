// Hostlists of any text: names that fold and unfold to themselves, or a refusal with a place inside the text.
#include "slurm/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto names = slurm::expand(text, "fuzz");
    if (!names) {
        if (names.error().kind() != core::ErrorKind::kBadInput || !names.error().position()) abort();
        const core::SourcePosition& position = *names.error().position();
        long lines = 1 + std::count(text.begin(), text.end(), '\n');
        if (position.line < 1 || position.line > lines) abort();
        if (position.column < 1 || position.column > static_cast<int>(size) + 1) abort();
        if (names.error().render().empty()) abort();
        return 0;
    }
    if (names->size() > slurm::kMaxHosts) abort();
    if (names->size() > 4096)
        return 0;  // the large ones are right if the small ones are, and would eat the time
    auto folded = slurm::compress(*names);
    if (!folded) abort();
    auto again = slurm::expand(*folded, "again");
    if (!again || *again != *names) abort();
    return 0;
}

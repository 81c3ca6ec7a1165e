#include "progress/mllog.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

// Whatever a job prints must be read without a crash, and what was read must survive being written and read
// again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay::progress;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    parse_mllog(text);
    if (auto value = parse_python_json(text)) {
        std::string once = write_python_json(*value);
        auto again = parse_python_json(once);
        if (!again || write_python_json(*again) != once) std::abort();
    }
    return 0;
}

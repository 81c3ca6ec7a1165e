// JSON from any text: what is read survives being written and read again, and an error has a place.
#include "core/python_json.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay::core;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    for (TextEncoding encoding : {TextEncoding::kUtf8, TextEncoding::kLatin1}) {
        auto value = parse_python_json(text, encoding);
        if (!value) {
            if (value.error().kind() != ErrorKind::kBadInput || value.error().message().empty()) std::abort();
            continue;
        }
        std::string once = write_python_json(*value);
        auto again = parse_python_json(once);
        if (!again || write_python_json(*again) != once) std::abort();
    }
    return 0;
}

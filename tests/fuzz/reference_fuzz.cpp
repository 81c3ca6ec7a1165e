// Image references of any text: one that is understood has a full form which means the same, a refusal a
// place.
#include "image/reference.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    auto reference = image::parse_reference(text, "fuzz");
    if (!reference) {
        if (reference.error().kind() != core::ErrorKind::kBadInput || reference.error().render().empty())
            abort();
        if (size > image::kMaxReferenceBytes) return 0;
        const auto& position = reference.error().position();
        if (!position || position->column < 1 || position->column > static_cast<int>(size) + 1) abort();
        return 0;
    }
    if (reference->is_file()) {
        if (reference->file != text) abort();
        return 0;
    }
    if (reference->selector().empty() || reference->registry.empty() || reference->repository.empty())
        abort();
    auto again = image::parse_reference(image::to_text(*reference));
    if (!again || *again != *reference) abort();
    return 0;
}

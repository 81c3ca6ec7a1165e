// A file of any bytes in the place of an image: its facts, its names and what its texts say, or a refusal.
#include "core/file.h"
#include "image/local_image.h"
#include "image/squashfs_reader.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/mman.h>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    core::Descriptor file(memfd_create("image", MFD_CLOEXEC));
    if (!file) abort();
    if (!core::write_all(file.get(), {reinterpret_cast<const char*>(data), size}, "image")) abort();
    const std::filesystem::path path = "/proc/self/fd/" + std::to_string(file.get());
    auto image = image::local_image(path);
    if (!image && image.error().render().empty()) abort();
    if (image) {
        if (image->bytes != size) abort();
        for (const std::string& variable : image->config.environment)
            if (variable.find('=') == std::string::npos || variable.contains('\0')) abort();
    }
    auto facts = image::squashfs_facts(path);
    if (facts && facts->bytes > size) abort();
    if (image && !facts) abort();
    return 0;
}

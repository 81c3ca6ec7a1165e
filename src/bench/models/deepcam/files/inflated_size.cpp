#include "bench/models/deepcam/files/inflated_size.h"

#include <array>
#include <cerrno>
#include <dlfcn.h>
#include <limits>
#include <zlib.h>

namespace belay::bench::deepcam {

namespace {

using core::Result;

struct Zlib {
    decltype(&::inflateInit_) start = nullptr;
    decltype(&::inflate) inflate = nullptr;
    decltype(&::inflateEnd) end = nullptr;
};

template <typename Function>
void find_function(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// Nothing where libhdf5 was built without it, and so expands nothing either.
const Zlib* loaded_zlib() {
    static const Zlib zlib = [] {
        Zlib found;
        find_function("inflateInit_", found.start);
        find_function("inflate", found.inflate);
        find_function("inflateEnd", found.end);
        return found;
    }();
    return zlib.start != nullptr && zlib.inflate != nullptr && zlib.end != nullptr ? &zlib : nullptr;
}

}  // namespace

Result<uint64_t> inflated_size(std::string_view stream, uint64_t limit) {
    const Zlib* zlib = loaded_zlib();
    if (zlib == nullptr) return core::system_error("zlib is not there, which libhdf5 needs to expand this");
    if (stream.size() > std::numeric_limits<uInt>::max()) return core::bad_input("it is 4 GiB or longer");
    z_stream state{};
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));
    state.avail_in = static_cast<uInt>(stream.size());
    if (zlib->start(&state, ZLIB_VERSION, static_cast<int>(sizeof state)) != Z_OK)
        return core::errno_error(ENOMEM, "zlib cannot start");
    std::array<Bytef, size_t{1} << 15> passed_over;
    int outcome = Z_OK;
    while (outcome == Z_OK && state.total_out <= limit) {
        state.next_out = passed_over.data();
        state.avail_out = static_cast<uInt>(passed_over.size());
        outcome = zlib->inflate(&state, Z_NO_FLUSH);
    }
    const uint64_t bytes = state.total_out;
    zlib->end(&state);
    if (outcome != Z_OK && outcome != Z_STREAM_END) return core::bad_input("it is damaged");
    return bytes;
}

}  // namespace belay::bench::deepcam

#include "bench/models/deepcam/files/inflated_size.h"

#include <array>
#include <cerrno>
#include <limits>
#include <zlib.h>

namespace belay::bench::deepcam {

using core::Result;

Result<uint64_t> inflated_size(std::string_view stream, uint64_t limit) {
    if (stream.size() > std::numeric_limits<uInt>::max()) return core::bad_input("it is 4 GiB or longer");
    z_stream state{};
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream.data()));
    state.avail_in = static_cast<uInt>(stream.size());
    if (inflateInit(&state) != Z_OK) return core::errno_error(ENOMEM, "zlib cannot start");
    std::array<Bytef, size_t{1} << 15> passed_over;
    int outcome = Z_OK;
    while (outcome == Z_OK && state.total_out <= limit) {
        state.next_out = passed_over.data();
        state.avail_out = static_cast<uInt>(passed_over.size());
        outcome = inflate(&state, Z_NO_FLUSH);
    }
    const uint64_t bytes = state.total_out;
    inflateEnd(&state);
    if (outcome != Z_OK && outcome != Z_STREAM_END) return core::bad_input("it is damaged");
    return bytes;
}

}  // namespace belay::bench::deepcam

// The state of a training run, of which the checksum is right: what is accepted is written as it was read.
#include "bench/optimize/checkpoint.h"
#include "core/hash.h"

#include <cstdint>
#include <cstdlib>
#include <string>

using namespace belay;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string bytes(reinterpret_cast<const char*>(data), size);
    bytes += core::bytes_of(core::sha256(bytes));
    const auto checkpoint = bench::decode_checkpoint(bytes);
    if (!checkpoint) return 0;
    const auto again = bench::decode_checkpoint(bench::encode_checkpoint(*checkpoint));
    if (!again || again->run != checkpoint->run || again->step != checkpoint->step ||
        again->parameters.size() != checkpoint->parameters.size())
        abort();
    return 0;
}

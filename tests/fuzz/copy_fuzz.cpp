// What the nodes of a copy tell each other, and what a copy keeps on disk: the first byte says which.
#include "many_parsers.h"
#include "stage/copy/brought.h"
#include "stage/copy/chunk_state.h"
#include "stage/copy/layout.h"
#include "stage/copy/wire.h"

#include <cstdint>
#include <string_view>

using namespace belay;

namespace {

void read_messages(std::string_view bytes) {
    if (const auto port = stage::decode_join(bytes)) require(stage::encode_join(*port) == bytes);
    if (const auto order = stage::decode_start(bytes))
        require(stage::decode_start(stage::encode_start(*order)).value() == *order);
    if (const auto number = stage::decode_number(bytes)) require(stage::encode_number(*number) == bytes);
    if (const auto figures = stage::decode_figures(bytes))
        require(stage::decode_figures(stage::encode_figures(*figures)).value() == *figures);
    if (const auto head = stage::decode_chunk_head(bytes))
        require(stage::encode_chunk_head(*head) == bytes.substr(0, stage::kChunkHeadBytes));
}

void read_plan(std::string_view bytes) {
    const auto plan = stage::decode_plan(bytes);
    if (!plan) return require(!plan.error().render().empty());
    require(stage::encode_plan(*plan) == bytes);
    const stage::CopyLayout layout(*plan);
    uint64_t sum = 0;
    for (uint64_t chunk = 0; chunk < layout.chunks() && chunk < 1000; ++chunk)
        for (const stage::Segment& segment : layout.segments(chunk)) sum += segment.file;
    require(sum < UINT64_MAX);
}

void read_state(std::string_view bytes) {
    if (bytes.empty()) return;
    const core::Sha256Digest plan{};
    const auto state = stage::decode_state(bytes.substr(1), plan, static_cast<uint8_t>(bytes[0]));
    require(state || !state.error().render().empty());
}

void read_sign(std::string_view bytes) {
    const auto sign = stage::decode_sign(bytes);
    if (!sign) return require(!sign.error().render().empty());
    require(stage::encode_sign(*sign) == bytes);
    stage::CopySign twice = *sign;
    stage::add_sign(twice, *sign);
    require(twice.copies.size() <= sign->copies.size());
}

constexpr void (*kParsers[])(std::string_view) = {read_messages, read_plan, read_state, read_sign};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}

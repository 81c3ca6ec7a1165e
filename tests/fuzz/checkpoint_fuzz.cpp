// Files of checkpoints, of which anything may be left after a crash: the first byte says what kind the rest
// is.
#include "many_parsers.h"
#include "stage/lint/checkpoint.h"
#include "stage/lint/stored_pieces.h"
#include "stage/lint/torch_file.h"

#include <cstdint>
#include <string>
#include <string_view>

using namespace belay;

namespace {

stage::ReadPiece reader_of(std::string_view bytes) {
    return [bytes](const std::string&, uint64_t offset, size_t size) -> core::Result<std::string> {
        if (offset >= bytes.size()) return std::string();
        return std::string(bytes.substr(offset, size));
    };
}

void read_pickle(std::string_view bytes) {
    const auto pieces = stage::stored_pieces(bytes);
    require(pieces || !pieces.error().render().empty());
}

void read_torch_file(std::string_view bytes) {
    const stage::CheckpointFile file{.name = "model.pt", .bytes = bytes.size()};
    for (bool checksums : {false, true})
        require(stage::judge_torch_file(file, reader_of(bytes), checksums).has_value());
}

void read_safetensors(std::string_view bytes) {
    const stage::CheckpointFile file{.name = "model.safetensors", .bytes = bytes.size()};
    require(stage::judge_safetensors_file(file, reader_of(bytes)).has_value());
}

// One of a kind of which the index is the text.
void read_index(std::string_view bytes) {
    for (const char* name :
         {"model.safetensors.index.json", ".metadata", "latest", "pytorch_model.bin.index.json"}) {
        const stage::CheckpointContent content{
            .name = "c",
            .files = {{.name = name, .bytes = bytes.size()},
                      {.name = "model-00001-of-00002.safetensors", .bytes = 9}},
            .pointer = stage::CheckpointPointer{"latest", std::string(bytes)},
            .read = reader_of(bytes)};
        const auto judged = stage::judge(content, {});
        require(judged.has_value() &&
                (judged->problems.empty() == (judged->state == stage::CheckpointState::kComplete)));
    }
}

constexpr void (*kParsers[])(std::string_view) = {read_pickle, read_torch_file, read_safetensors, read_index};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}

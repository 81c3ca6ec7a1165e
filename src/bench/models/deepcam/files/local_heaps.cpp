#include "bench/models/deepcam/files/local_heaps.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace belay::bench::deepcam {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr std::string_view kHeap("HEAP\0\0\0\0", 8);  // with version 0 and what is reserved
constexpr uint64_t kEndOfList = 1;
constexpr uint64_t kLeastBlock = 16;  // next and size: so many bytes a free block has at least
// Where the superblock of a version says how long offsets and lengths are.
constexpr size_t kVersionAt = 8, kSizesAtFirst = 13, kSizesAtSecond = 9;

std::optional<uint64_t> number_at(std::string_view bytes, uint64_t at) {
    uint64_t number = 0;
    if (bytes.size() < sizeof number || at > bytes.size() - sizeof number) return std::nullopt;
    std::memcpy(&number, bytes.data() + at, sizeof number);  // little-endian, as this machine is
    return number;
}

bool has_long_offsets(std::string_view file) {
    const size_t at = file[kVersionAt] < 2 ? kSizesAtFirst : kSizesAtSecond;
    return file[at] == 8 && file[at + 1] == 8;
}

// Whether it ends, or leaves the data of the heap, which libhdf5 refuses by itself.
bool free_list_ends(std::string_view file, uint64_t heap) {
    const auto size = number_at(file, heap + 8), head = number_at(file, heap + 16),
               data = number_at(file, heap + 24);
    if (!size || !head || !data || *data > file.size()) return true;
    const std::string_view segment = file.substr(*data, *size);
    uint64_t block = *head;
    for (uint64_t steps = 0; steps <= segment.size() / kLeastBlock; ++steps) {
        if (block == kEndOfList) return true;
        const auto next = number_at(segment, block);
        if (!next) return true;
        block = *next;
    }
    return false;
}

}  // namespace

Result<> check_local_heaps(std::string_view file) {
    if (!file.starts_with(kSignature))
        return bad_input("it cannot be opened as HDF5: it does not begin as such a file does");
    if (file.size() <= kSizesAtFirst + 1) return bad_input("it is cut off");
    if (!has_long_offsets(file)) return bad_input("its offsets and lengths do not have 8 bytes each");
    for (size_t at = file.find(kHeap); at != std::string_view::npos; at = file.find(kHeap, at + 1))
        if (!free_list_ends(file, at))
            return bad_input("it is damaged: the free blocks of the heap at byte {} go in a circle", at);
    return {};
}

}  // namespace belay::bench::deepcam

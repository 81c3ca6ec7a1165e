// What an image may make an import hold or write. Exceeding one ends the import.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belay::image {

struct ImportLimits {
    uint64_t entries = 4'000'000;              // of one layer
    uint64_t file_bytes = uint64_t{1} << 39;   // 512 GiB
    uint64_t total_bytes = uint64_t{1} << 41;  // 2 TiB, of one layer
    uint64_t nodes = 8'000'000;                // names of all layers, with directories that only names imply
    uint64_t name_bytes = uint64_t{1} << 29;   // 512 MiB: of these names, and of the paths of one layer
    size_t path_bytes = 4095;                  // PATH_MAX without its NUL
    size_t component_bytes = 255;              // NAME_MAX
    size_t depth = 128;                        // directories above each other
    size_t link_target_bytes = 4095;           // of a symbolic link
    uint64_t links = 1'000'000;                // hard links of one layer
    // Text compresses 3 to 20 times, a layer of zeros with gzip 1000 times. Below the floor nothing is asked.
    uint64_t compression_ratio = 400;
    uint64_t ratio_floor_bytes = uint64_t{1} << 30;
};

}  // namespace belay::image

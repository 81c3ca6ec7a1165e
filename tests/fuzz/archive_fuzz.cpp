// Layers of any bytes: an index that holds to its limits, merges to a tree whose names lead nowhere else, and
// becomes a SquashFS file that has as many names; or a refusal. The input is two layers, cut where its first
// two bytes say.
#include "core/file.h"
#include "image/import.h"
#include "image/squashfs_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

using namespace belay;

namespace {

constexpr image::ImportLimits kLimits = {.entries = 1000,
                                         .file_bytes = 1 << 20,
                                         .total_bytes = 1 << 22,
                                         .nodes = 20000,
                                         .ratio_floor_bytes = 1 << 22};

void check_name(std::string_view name) {
    for (auto part : std::views::split(name, '/')) {
        std::string_view component(part.begin(), part.end());
        if (component.empty() || component == "." || component == ".." || component.size() > 255) abort();
    }
}

void check_tree(const image::Inodes& inodes, const image::Node& node) {
    if (node.inode >= inodes.size()) abort();
    image::EntryKind kind = inodes[node.inode].kind;
    if (kind == image::EntryKind::kHardLink || kind == image::EntryKind::kOther) abort();
    if (kind != image::EntryKind::kDirectory && !node.children.empty()) abort();
    if ((inodes[node.inode].mode & ~01777U) != 0) abort();
    for (const auto& [name, child] : node.children) {
        check_name(name);
        check_tree(inodes, child);
    }
}

size_t count_names(const image::Node& node) {
    size_t out = 1;
    for (const auto& child : node.children | std::views::values) out += count_names(child);
    return out;
}

// As an import does it, in memory. `tree` is what the names must come to, if they come to anything.
void write_and_read(std::span<const std::string_view> layers, const std::optional<image::Node>& tree) {
    core::Descriptor file(memfd_create("image", MFD_CLOEXEC));
    if (!file) abort();
    std::vector<image::LayerInput> inputs;
    for (std::string_view layer : layers)
        inputs.push_back({.name = "layer", .open = [layer]() -> core::Result<image::ByteSource> {
                              return image::read_from_memory(layer);
                          }});
    auto open_writer = [&]() -> core::Result<image::SquashfsWriter> {
        if (ftruncate(file.get(), 0) != 0) abort();
        return image::SquashfsWriter::create(file.get(), "image", 1);
    };
    auto written = image::write_image(inputs, kLimits, open_writer, 0);
    if (!written) return;
    if (!tree) abort();
    auto reader = image::SquashfsReader::open("/proc/self/fd/" + std::to_string(file.get()));
    if (!reader) abort();
    auto entries = reader->list();
    if (!entries || entries->size() != count_names(*tree)) abort();
    for (const image::SquashfsEntry& entry : *entries)
        if (entry.type == 'f') {
            auto content = reader->read(entry.path, kLimits.file_bytes);
            if (!content || content->size() != entry.size) abort();
        }
}

}  // namespace

// libsquashfs forgets the block of fragments that it was filling when a file is given up, as it is where
// layers hide much: 128 KiB, at most once an import.
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libsquashfs.so";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    size_t cut = std::min<size_t>(bytes.size(), (size_t{data[0]} << 8U) | data[1]);
    const std::array inputs = {bytes.substr(0, cut), bytes.substr(cut)};
    image::Inodes inodes;
    std::vector<image::LayerTree> layers;
    bool good = true;
    for (std::string_view layer : inputs) {
        auto index = image::index_layer(image::read_from_memory(layer), kLimits);
        if (!index) {
            if (index.error().render().empty()) abort();
            good = false;
            continue;
        }
        if (index->entries.size() > kLimits.entries) abort();
        image::LayerTreeBuilder builder(inodes, static_cast<uint32_t>(layers.size()), kLimits);
        for (const image::TarEntry& entry : index->entries) {
            if (!entry.name.empty()) check_name(entry.name);
            if (entry.size > kLimits.file_bytes || entry.mtime < 0) abort();
            if (!builder.add(entry)) return 0;
        }
        layers.push_back(std::move(builder).finish());
    }
    std::optional<image::Node> image;
    if (auto tree = image::merge_layers(inodes, std::move(layers))) {
        check_tree(inodes, *tree);
        image = std::move(*tree);
    }
    // Content is looked at only where it is written: a layer whose names are good may still be damaged.
    if (good) write_and_read(inputs, image);
    return 0;
}

// Layers of any bytes: an index that holds to its limits and merges to a tree whose names lead nowhere else,
// or a refusal. The input is two layers, cut where its first two bytes say.
#include "image/import.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ranges>
#include <string_view>

using namespace belay;

namespace {

constexpr image::ImportLimits kLimits = {
    .entries = 1000, .file_bytes = 1 << 20, .total_bytes = 1 << 22, .ratio_floor_bytes = 1 << 22};

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    size_t cut = std::min<size_t>(bytes.size(), (size_t{data[0]} << 8U) | data[1]);
    image::Inodes inodes;
    std::vector<image::LayerTree> layers;
    for (std::string_view layer : {bytes.substr(0, cut), bytes.substr(cut)}) {
        auto index = image::index_layer(image::read_from_memory(layer), kLimits);
        if (!index) {
            if (index.error().render().empty()) abort();
            continue;
        }
        if (index->entries.size() > kLimits.entries) abort();
        image::LayerTreeBuilder builder(inodes, static_cast<uint32_t>(layers.size()));
        for (const image::TarEntry& entry : index->entries) {
            if (!entry.name.empty()) check_name(entry.name);
            if (entry.size > kLimits.file_bytes || entry.mtime < 0) abort();
            if (!builder.add(entry)) return 0;
        }
        layers.push_back(std::move(builder).finish());
    }
    auto tree = image::merge_layers(inodes, std::move(layers));
    if (tree) check_tree(inodes, *tree);
    return 0;
}

#include "image/import.h"

#include <map>
#include <ranges>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

// For each layer, which entry of its tar is which inode's content.
using Wanted = std::vector<std::map<uint64_t, InodeNumber>>;

uint64_t collect_files(const Inodes& inodes, const Node& node, Wanted& wanted) {
    const Inode& inode = inodes[node.inode];
    uint64_t bytes = 0;
    if (inode.kind == EntryKind::kFile && wanted[inode.layer].emplace(inode.ordinal, node.inode).second)
        bytes = inode.size;
    for (const Node& child : node.children | std::views::values)
        bytes += collect_files(inodes, child, wanted);
    return bytes;
}

class ContentCopier {
  public:
    ContentCopier(SquashfsWriter& writer, uint64_t total, const WriteProgress& progress)
        : writer_(writer), total_(total), progress_(progress) {}

    Result<> copy_layer(ByteSource source, const std::map<uint64_t, InodeNumber>& wanted,
                        const ImportLimits& limits, const LayerIndex& index) {
        BELAY_TRY(stream, LayerStream::open(std::move(source), Hashing::kNo));
        BELAY_TRY(reader, TarReader::open(stream, limits));
        uint64_t ordinal = 0;
        auto next_wanted = wanted.begin();
        while (next_wanted != wanted.end()) {
            BELAY_TRY(entry, reader.next());
            if (!entry || ordinal >= index.entries.size() || *entry != index.entries[ordinal])
                return system_error("it changed while it was read");
            if (ordinal++ != next_wanted->first) continue;
            BELAY_CHECK(copy_file(reader, *entry, next_wanted->second));
            ++next_wanted;
        }
        return {};
    }

  private:
    Result<> copy_file(TarReader& reader, const TarEntry& entry, InodeNumber inode) {
        BELAY_CHECK(writer_.begin_file(inode));
        BELAY_CHECK(reader.read_content(entry, [this](std::string_view bytes) -> Result<> {
            done_ += bytes.size();
            if (progress_) progress_(done_, total_);
            return writer_.append(bytes);
        }));
        return writer_.end_file();
    }

    SquashfsWriter& writer_;
    uint64_t total_;
    const WriteProgress& progress_;
    uint64_t done_ = 0;
};

}  // namespace

Result<LayerIndex> index_layer(ByteSource source, const ImportLimits& limits) {
    BELAY_TRY(stream, LayerStream::open(std::move(source), Hashing::kYes));
    LayerIndex out;
    {
        BELAY_TRY(reader, TarReader::open(stream, limits));
        while (true) {
            BELAY_TRY(entry, reader.next());
            if (!entry) break;
            out.entries.push_back(std::move(*entry));
        }
    }
    out.diff_id = stream.diff_id();
    out.compressed_bytes = stream.compressed_bytes();
    out.tar_bytes = stream.tar_bytes();
    return out;
}

Result<> write_image(std::span<const LayerIndex> layers, std::span<const std::string> names,
                     const LayerOpener& open, const ImportLimits& limits, SquashfsWriter writer,
                     uint32_t mtime, const WriteProgress& progress) {
    Inodes inodes;
    std::vector<LayerTree> trees;
    for (size_t i = 0; i < layers.size(); ++i) {
        LayerTreeBuilder builder(inodes, static_cast<uint32_t>(i));
        for (const TarEntry& entry : layers[i].entries)
            BELAY_CHECK(core::with_context(builder.add(entry), names[i]));
        trees.push_back(std::move(builder).finish());
    }
    BELAY_TRY(root, merge_layers(inodes, std::move(trees)));
    Wanted wanted(layers.size());
    uint64_t total = collect_files(inodes, root, wanted);
    ContentCopier copier(writer, total, progress);
    for (size_t i = 0; i < layers.size(); ++i) {
        if (wanted[i].empty()) continue;
        BELAY_TRY(source, open(i));
        BELAY_CHECK(
            core::with_context(copier.copy_layer(std::move(source), wanted[i], limits, layers[i]), names[i]));
    }
    return writer.finish(inodes, root, mtime);
}

}  // namespace belay::image

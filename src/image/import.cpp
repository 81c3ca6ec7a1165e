#include "image/import.h"

#include <optional>
#include <ranges>
#include <set>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

constexpr std::string_view kBadImageHint = "the image was built incorrectly: build and push it again";
// Of the content that was written, as 1 in so many: more that nobody can see is not left in the file.
constexpr uint64_t kUnseenShare = 10;

// Takes the content of an entry, counted from 0.
using Taker = std::function<Result<>(TarReader& reader, const TarEntry& entry, uint64_t ordinal)>;

Result<LayerIndex> read_layer(ByteSource source, const ImportLimits& limits, uint64_t whole_bytes,
                              const Taker& take) {
    BELAY_TRY(stream, LayerStream::open(std::move(source), limits, whole_bytes));
    LayerIndex out;
    {
        BELAY_TRY(reader, TarReader::open(stream, limits));
        while (true) {
            BELAY_TRY(entry, reader.next());
            if (!entry) break;
            if (take && entry->kind == EntryKind::kFile)
                BELAY_CHECK(take(reader, *entry, out.entries.size()));
            out.entries.push_back(std::move(*entry));
        }
    }
    out.diff_id = stream.diff_id();
    out.compressed_bytes = stream.compressed_bytes();
    out.tar_bytes = stream.tar_bytes();
    return out;
}

// For each layer, which entries of its tar are seen in the image.
struct Seen {
    std::vector<std::set<uint64_t>> ordinals;
    uint64_t bytes = 0;
};

void collect_seen(const Inodes& inodes, const Node& node, Seen& seen) {
    const Inode& inode = inodes[node.inode];
    if (inode.kind == EntryKind::kFile && seen.ordinals[inode.layer].insert(inode.ordinal).second)
        seen.bytes += inode.size;
    for (const Node& child : node.children | std::views::values) collect_seen(inodes, child, seen);
}

class ImageWriter {
  public:
    ImageWriter(std::span<const LayerInput> layers, const ImportLimits& limits, const WriteProgress& progress)
        : layers_(layers), limits_(limits), progress_(progress) {
        for (const LayerInput& layer : layers) total_ += layer.compressed_bytes;
    }

    Result<> write(const WriterOpener& open_writer, uint32_t mtime) {
        BELAY_CHECK(begin(open_writer));
        std::vector<LayerTree> trees;
        Inodes inodes;
        for (size_t i = 0; i < layers_.size(); ++i) {
            BELAY_TRY(index, copy_layer(i, nullptr));
            LayerTreeBuilder builder(inodes, static_cast<uint32_t>(i), limits_);
            for (const TarEntry& entry : index.entries)
                BELAY_CHECK(of_image(builder.add(entry), layers_[i].name));
            trees.push_back(std::move(builder).finish());
        }
        BELAY_TRY(root, merge_layers(inodes, std::move(trees)));
        Seen seen{.ordinals = std::vector<std::set<uint64_t>>(layers_.size())};
        collect_seen(inodes, root, seen);
        if ((written_ - seen.bytes) * kUnseenShare > written_) {
            BELAY_CHECK(begin(open_writer));
            for (size_t i = 0; i < layers_.size(); ++i)
                if (!seen.ordinals[i].empty()) BELAY_CHECK(copy_layer(i, &seen.ordinals[i]));
        }
        return writer_->finish(inodes, root, mtime);
    }

  private:
    Result<> begin(const WriterOpener& open_writer) {
        writer_.reset();  // it may still write
        BELAY_TRY(writer, open_writer());
        writer_.emplace(std::move(writer));
        read_ = written_ = 0;
        return {};
    }

    // The content of all files, or of those in `wanted`.
    Result<LayerIndex> copy_layer(size_t layer, const std::set<uint64_t>* wanted) {
        const LayerInput& input = layers_[layer];
        // What is not the image's fault: the disk's, on one side or the other.
        std::optional<core::Error> not_written;
        std::optional<core::Error> not_read;
        auto written = [&](Result<> result) {
            if (!result && !not_written) not_written = result.error();
            return result;
        };
        auto take = [&](TarReader& reader, const TarEntry& entry, uint64_t ordinal) -> Result<> {
            if (wanted != nullptr && !wanted->contains(ordinal)) return {};
            BELAY_CHECK(written(writer_->begin_file(static_cast<uint32_t>(layer), ordinal)));
            BELAY_CHECK(reader.read_content(entry, [&](std::string_view bytes) {
                written_ += bytes.size();
                return written(writer_->append(bytes));
            }));
            return written(writer_->end_file());
        };
        BELAY_TRY(source, core::with_context(input.open(), input.name));
        auto index = read_layer(counted(std::move(source), not_read), limits_, input.compressed_bytes, take);
        if (not_written) return std::unexpected(std::move(*not_written));
        if (not_read) return std::unexpected(std::move(*not_read).context(input.name));
        if (!index) return of_image(std::move(index), input.name);
        if (!input.diff_id.empty() && index->diff_id != input.diff_id)
            return system_error(
                       "{}: its content has the hash {}, not the {} that the image's configuration says",
                       input.name, index->diff_id, input.diff_id)
                .hint(kBadImageHint);
        return index;
    }

    // With the hint that an error of the image itself has: what a call of the system refuses is none.
    template <typename T>
    static Result<T> of_image(Result<T> result, const std::string& layer) {
        if (result) return result;
        core::Error error = std::move(result.error()).context(layer);
        if (error.errno_value() != 0) return std::unexpected(std::move(error));
        return std::unexpected(std::move(error).hint(std::string(kBadImageHint)));
    }

    ByteSource counted(ByteSource source, std::optional<core::Error>& failed) {
        return [this, &failed, source = std::move(source)](char* buffer, size_t size) -> Result<size_t> {
            auto n = source(buffer, size);
            if (!n) {
                failed = n.error();
                return n;
            }
            read_ += *n;
            if (progress_) progress_(read_, total_);
            return n;
        };
    }

    std::span<const LayerInput> layers_;
    const ImportLimits& limits_;
    const WriteProgress& progress_;
    std::optional<SquashfsWriter> writer_;
    uint64_t total_ = 0;    // compressed bytes
    uint64_t read_ = 0;     // of them
    uint64_t written_ = 0;  // bytes of content
};

}  // namespace

Result<LayerIndex> index_layer(ByteSource source, const ImportLimits& limits) {
    return read_layer(std::move(source), limits, 0, {});
}

Result<> write_image(std::span<const LayerInput> layers, const ImportLimits& limits,
                     const WriterOpener& open_writer, uint32_t mtime, const WriteProgress& progress) {
    return ImageWriter(layers, limits, progress).write(open_writer, mtime);
}

}  // namespace belay::image

#include "image/squashfs_writer.h"

#include "image/squashfs_blocks.h"
#include "image/squashfs_file.h"
#include "image/squashfs_stored.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ranges>
#include <sqfs/block.h>
#include <sqfs/block_processor.h>
#include <sqfs/compressor.h>
#include <sqfs/dir_writer.h>
#include <sqfs/error.h>
#include <sqfs/frag_table.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/meta_writer.h>
#include <sqfs/super.h>
#include <unordered_map>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

constexpr unsigned kZstdLevel = 3;
constexpr size_t kBlockBytes = SQFS_DEFAULT_BLOCK_SIZE;
constexpr unsigned kBlocksInFlightPerThread = 10;
constexpr size_t kPaddingBytes = 4096;  // of the whole file, so that a loop device could take it

struct FreeInode {
    void operator()(sqfs_inode_generic_t* inode) const { sqfs_free(inode); }
};
using InodePointer = std::unique_ptr<sqfs_inode_generic_t, FreeInode>;

Result<SquashfsPointer<sqfs_compressor_t>> make_compressor(bool unpack) {
    sqfs_compressor_config_t configuration;
    int code = sqfs_compressor_config_init(&configuration, SQFS_COMP_ZSTD, kBlockBytes,
                                           unpack ? SQFS_COMP_FLAG_UNCOMPRESS : 0);
    sqfs_compressor_t* compressor = nullptr;
    configuration.level = kZstdLevel;
    if (code == 0) code = sqfs_compressor_create(&configuration, &compressor);
    if (code == SQFS_ERROR_ALLOC) return core::errno_error(ENOMEM, "cannot prepare to compress");
    if (code != 0) return system_error("libsquashfs cannot compress with zstd");
    return SquashfsPointer<sqfs_compressor_t>(compressor);
}

struct Placed {
    uint32_t number = 0;  // in the file system
    uint32_t links = 0;   // names
    uint64_t reference = 0;
    bool written = false;
};

}  // namespace

struct SquashfsWriter::State {
    State(int fd, std::string name_in, SquashfsProfile profile_in)
        : file(fd, 0), name(std::move(name_in)), profile(profile_in) {}

    bool stores() const { return !profile.compressed && !profile.fragments; }

    Result<> check(int code) { return code == 0 ? Result<>() : Result<>(file.failure(code, "write", name)); }
    Result<> open(unsigned threads);
    Result<> start_processor(unsigned threads);
    void count_names(const Inodes& inodes, const Node& node);
    void number_inodes(const Node& node);
    Result<> write_node(const Inodes& inodes, const Node& node, uint32_t parent_number);
    Result<InodePointer> make_directory(const Inodes& inodes, const Node& node, uint32_t parent_number);
    Result<InodePointer> make_symlink(const Inode& inode) const;
    Result<InodePointer> take_file(const Inode& inode, uint32_t links);
    Result<> write_tables();
    Result<> pad();

    // In the order in which they depend on each other: destroyed from the last to the first.
    SquashfsFile file;
    std::string name;
    SquashfsProfile profile;
    sqfs_super_t super{};
    SquashfsPointer<sqfs_compressor_t> compressor;
    SquashfsPointer<sqfs_compressor_t> unpacker;
    SquashfsBlocks written{file};
    SquashfsStored stored{written, kBlockBytes};  // for a profile that stores
    SquashfsPointer<sqfs_frag_table_t> fragments;
    SquashfsPointer<sqfs_id_table_t> ids;
    SquashfsPointer<sqfs_meta_writer_t> inode_writer;
    SquashfsPointer<sqfs_meta_writer_t> entry_writer;
    SquashfsPointer<sqfs_dir_writer_t> directory_writer;
    // The block processor goes on changing these pointers until it is finished; a map's nodes stay in place.
    std::map<std::pair<uint32_t, uint64_t>, sqfs_inode_generic_t*> files;  // by layer and entry
    SquashfsPointer<sqfs_block_processor_t> blocks;                        // for the others
    sqfs_inode_generic_t** file_place = nullptr;                           // of the file that is stored

    std::unordered_map<InodeNumber, Placed> placed;
    uint32_t inode_count = 0;
    bool in_file = false;
    bool finished = false;

    ~State() {
        // Given up within a file, the block processor would lose the block that it is filling.
        if (blocks && in_file) (void)sqfs_block_processor_end_file(blocks.get());
        if (blocks && !finished) (void)sqfs_block_processor_finish(blocks.get());
        blocks.reset();
        for (auto* inode : files | std::views::values) sqfs_free(inode);
    }
};

SquashfsWriter::SquashfsWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
SquashfsWriter::SquashfsWriter(SquashfsWriter&&) noexcept = default;
SquashfsWriter::~SquashfsWriter() = default;

Result<> SquashfsWriter::State::open(unsigned threads) {
    BELAY_TRY(packing, make_compressor(false));
    BELAY_TRY(unpacking, make_compressor(true));
    compressor = std::move(packing);
    unpacker = std::move(unpacking);
    sqfs_file_t* out = &file.interface;
    BELAY_CHECK(check(sqfs_super_init(&super, kBlockBytes, 0, SQFS_COMP_ZSTD)));
    BELAY_CHECK(check(sqfs_super_write(&super, out)));
    int options = compressor->write_options(compressor.get(), out);
    if (options < 0) return check(options);
    if (options > 0) super.flags |= SQFS_FLAG_COMPRESSOR_OPTIONS;
    fragments.reset(sqfs_frag_table_create(0));
    ids.reset(sqfs_id_table_create(0));
    inode_writer.reset(sqfs_meta_writer_create(out, compressor.get(), 0));
    entry_writer.reset(sqfs_meta_writer_create(out, compressor.get(), SQFS_META_WRITER_KEEP_IN_MEMORY));
    if (!fragments || !ids || !inode_writer || !entry_writer) return check(SQFS_ERROR_ALLOC);
    directory_writer.reset(sqfs_dir_writer_create(entry_writer.get(), 0));
    if (!directory_writer) return check(SQFS_ERROR_ALLOC);
    return stores() ? Result<>() : start_processor(threads);
}

Result<> SquashfsWriter::State::start_processor(unsigned threads) {
    sqfs_block_processor_desc_t description{};
    description.size = sizeof(description);
    description.max_block_size = kBlockBytes;
    description.num_workers = threads;
    description.max_backlog = kBlocksInFlightPerThread * threads;
    description.cmp = compressor.get();
    description.wr = written.interface();
    description.tbl = fragments.get();
    description.file = &file.interface;
    description.uncmp = unpacker.get();
    sqfs_block_processor_t* processor = nullptr;
    BELAY_CHECK(check(sqfs_block_processor_create_ex(&description, &processor)));
    blocks.reset(processor);
    return {};
}

Result<SquashfsWriter> SquashfsWriter::create(int fd, std::string name, unsigned threads,
                                              SquashfsProfile profile) {
    auto state = std::make_unique<State>(fd, std::move(name), profile);
    BELAY_CHECK(state->open(std::max(threads, 1U)));
    return SquashfsWriter(std::move(state));
}

Result<> SquashfsWriter::begin_file(uint32_t layer, uint64_t ordinal) {
    auto [place, added] = state_->files.try_emplace({layer, ordinal}, nullptr);
    if (!added) return system_error("a file's content was given twice");
    if (state_->stores()) {
        state_->file_place = &place->second;
        state_->stored.begin();
        return {};
    }
    const uint32_t flags = (state_->profile.fragments ? 0U : uint32_t{SQFS_BLK_DONT_FRAGMENT}) |
                           (state_->profile.compressed ? 0U : uint32_t{SQFS_BLK_DONT_COMPRESS});
    BELAY_CHECK(
        state_->check(sqfs_block_processor_begin_file(state_->blocks.get(), &place->second, nullptr, flags)));
    state_->in_file = true;
    return {};
}

Result<> SquashfsWriter::append(std::string_view bytes) {
    if (state_->stores()) return state_->check(state_->stored.append(bytes));
    if (bytes.empty()) return {};  // of which the block processor would look at a block that it does not have
    return state_->check(sqfs_block_processor_append(state_->blocks.get(), bytes.data(), bytes.size()));
}

Result<> SquashfsWriter::end_file() {
    if (state_->stores()) return state_->check(state_->stored.end(*state_->file_place));
    state_->in_file = false;
    return state_->check(sqfs_block_processor_end_file(state_->blocks.get()));
}

void SquashfsWriter::State::count_names(const Inodes& inodes, const Node& node) {
    ++placed[node.inode].links;
    if (inodes[node.inode].kind != EntryKind::kDirectory) return;
    ++placed[node.inode].links;  // its "."
    for (const Node& child : node.children | std::views::values) {
        if (inodes[child.inode].kind == EntryKind::kDirectory)
            ++placed[node.inode].links;  // the child's ".."
        count_names(inodes, child);
    }
}

// Children before their directory, in the order in which they will be written.
void SquashfsWriter::State::number_inodes(const Node& node) {
    for (const Node& child : node.children | std::views::values) number_inodes(child);
    Placed& place = placed[node.inode];
    if (place.number == 0) place.number = ++inode_count;
}

Result<InodePointer> SquashfsWriter::State::make_directory(const Inodes& inodes, const Node& node,
                                                           uint32_t parent_number) {
    BELAY_CHECK(check(sqfs_dir_writer_begin(directory_writer.get(), 0)));
    for (const auto& [child_name, child] : node.children) {
        const Placed& place = placed[child.inode];
        const Inode& inode = inodes[child.inode];
        uint32_t type = inode.kind == EntryKind::kDirectory ? SQFS_INODE_MODE_DIR
                        : inode.kind == EntryKind::kSymlink ? SQFS_INODE_MODE_LNK
                                                            : SQFS_INODE_MODE_REG;
        BELAY_CHECK(
            check(sqfs_dir_writer_add_entry(directory_writer.get(), child_name.c_str(), place.number,
                                            place.reference, static_cast<uint16_t>(type | inode.mode))));
    }
    BELAY_CHECK(check(sqfs_dir_writer_end(directory_writer.get())));
    InodePointer out(sqfs_dir_writer_create_inode(directory_writer.get(), 0, 0xFFFFFFFF, parent_number));
    if (!out) return std::unexpected(check(SQFS_ERROR_ALLOC).error());
    uint32_t links = placed[node.inode].links;
    if (out->base.type == SQFS_INODE_DIR)
        out->data.dir.nlink = links;
    else
        out->data.dir_ext.nlink = links;
    return out;
}

Result<InodePointer> SquashfsWriter::State::make_symlink(const Inode& inode) const {
    void* memory = std::calloc(1, sizeof(sqfs_inode_generic_t) + inode.target.size());
    if (memory == nullptr) return core::errno_error(ENOMEM, fmt::format("cannot write {}", name));
    InodePointer out(static_cast<sqfs_inode_generic_t*>(memory));
    out->base.type = SQFS_INODE_SLINK;
    out->data.slink.target_size = static_cast<uint32_t>(inode.target.size());
    std::memcpy(out->extra, inode.target.data(), inode.target.size());
    return out;
}

Result<InodePointer> SquashfsWriter::State::take_file(const Inode& inode, uint32_t links) {
    auto found = files.find({inode.layer, inode.ordinal});
    if (found == files.end() || found->second == nullptr)
        return system_error("a file of the image has no content");
    InodePointer out(std::exchange(found->second, nullptr));
    if (links > 1) {
        BELAY_CHECK(check(sqfs_inode_make_extended(out.get())));
        out->data.file_ext.nlink = links;
    }
    return out;
}

Result<> SquashfsWriter::State::write_node(const Inodes& inodes, const Node& node, uint32_t parent_number) {
    Placed& place = placed[node.inode];
    if (place.written) return {};
    place.written = true;
    const Inode& inode = inodes[node.inode];
    InodePointer out;
    uint32_t type = SQFS_INODE_MODE_REG;
    if (inode.kind == EntryKind::kDirectory) {
        for (const Node& child : node.children | std::views::values)
            BELAY_CHECK(write_node(inodes, child, place.number));
        BELAY_TRY(directory, make_directory(inodes, node, parent_number));
        out = std::move(directory);
        type = SQFS_INODE_MODE_DIR;
    } else if (inode.kind == EntryKind::kSymlink) {
        BELAY_TRY(link, make_symlink(inode));
        out = std::move(link);
        out->data.slink.nlink = place.links;
        type = SQFS_INODE_MODE_LNK;
    } else {
        BELAY_TRY(content, take_file(inode, place.links));
        out = std::move(content);
    }
    out->base.mode = static_cast<uint16_t>(type | inode.mode);
    out->base.mod_time = static_cast<uint32_t>(inode.mtime);
    out->base.inode_number = place.number;
    BELAY_CHECK(check(sqfs_id_table_id_to_index(ids.get(), 0, &out->base.uid_idx)));
    BELAY_CHECK(check(sqfs_id_table_id_to_index(ids.get(), 0, &out->base.gid_idx)));
    sqfs_u64 block = 0;
    sqfs_u32 offset = 0;
    sqfs_meta_writer_get_position(inode_writer.get(), &block, &offset);
    place.reference = (block << 16U) | offset;
    return check(sqfs_meta_writer_write_inode(inode_writer.get(), out.get()));
}

Result<> SquashfsWriter::State::write_tables() {
    sqfs_file_t* out = &file.interface;
    super.directory_table_start = file.size;
    BELAY_CHECK(check(sqfs_meta_write_write_to_file(entry_writer.get())));
    BELAY_CHECK(check(sqfs_frag_table_write(fragments.get(), out, &super, compressor.get())));
    BELAY_CHECK(check(sqfs_id_table_write(ids.get(), out, &super, compressor.get())));
    super.bytes_used = file.size;
    super.flags |= SQFS_FLAG_NO_XATTRS;
    return check(sqfs_super_write(&super, out));
}

Result<> SquashfsWriter::State::pad() {
    size_t rest = file.size % kPaddingBytes;
    if (rest == 0) return {};
    std::string zeros(kPaddingBytes - rest, '\0');
    return check(file.interface.write_at(&file.interface, file.size, zeros.data(), zeros.size()));
}

Result<> SquashfsWriter::finish(const Inodes& inodes, const Node& root, uint32_t mtime) {
    State& state = *state_;
    state.finished = true;
    if (state.blocks) BELAY_CHECK(state.check(sqfs_block_processor_finish(state.blocks.get())));
    state.count_names(inodes, root);
    state.number_inodes(root);
    state.super.inode_table_start = state.file.size;
    state.super.inode_count = state.inode_count;
    state.super.modification_time = mtime;
    // The parent of the root is a number that no inode has.
    BELAY_CHECK(state.write_node(inodes, root, state.inode_count + 1));
    BELAY_CHECK(state.check(sqfs_meta_writer_flush(state.inode_writer.get())));
    BELAY_CHECK(state.check(sqfs_meta_writer_flush(state.entry_writer.get())));
    state.super.root_inode_ref = state.placed[root.inode].reference;
    BELAY_CHECK(state.write_tables());
    return state.pad();
}

}  // namespace belay::image

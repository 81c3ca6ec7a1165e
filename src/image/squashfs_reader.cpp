#include "image/squashfs_reader.h"

#include "core/file.h"
#include "image/squashfs_file.h"

#include <array>
#include <fcntl.h>
#include <sqfs/compressor.h>
#include <sqfs/data_reader.h>
#include <sqfs/dir_reader.h>
#include <sqfs/error.h>
#include <sqfs/id_table.h>
#include <sqfs/inode.h>
#include <sqfs/super.h>
#include <sys/stat.h>

namespace belay::image {

namespace {

using core::bad_input;
using core::Result;

constexpr std::array kCompressions = {
    std::pair{SQFS_COMP_GZIP, "gzip"}, std::pair{SQFS_COMP_LZMA, "lzma"}, std::pair{SQFS_COMP_LZO, "lzo"},
    std::pair{SQFS_COMP_XZ, "xz"},     std::pair{SQFS_COMP_LZ4, "lz4"},   std::pair{SQFS_COMP_ZSTD, "zstd"},
};

struct FreeTree {
    void operator()(sqfs_tree_node_t* tree) const { sqfs_dir_tree_destroy(tree); }
};
struct FreeInode {
    void operator()(sqfs_inode_generic_t* inode) const { sqfs_free(inode); }
};

char type_of(const sqfs_inode_generic_t& inode) {
    switch (inode.base.type) {
        case SQFS_INODE_FILE:
        case SQFS_INODE_EXT_FILE:
            return 'f';
        case SQFS_INODE_DIR:
        case SQFS_INODE_EXT_DIR:
            return 'd';
        case SQFS_INODE_SLINK:
        case SQFS_INODE_EXT_SLINK:
            return 'l';
        default:
            return '?';
    }
}

uint32_t links_of(const sqfs_inode_generic_t& inode) {
    switch (inode.base.type) {
        case SQFS_INODE_EXT_FILE:
            return inode.data.file_ext.nlink;
        case SQFS_INODE_DIR:
            return inode.data.dir.nlink;
        case SQFS_INODE_EXT_DIR:
            return inode.data.dir_ext.nlink;
        case SQFS_INODE_SLINK:
        case SQFS_INODE_EXT_SLINK:
            return inode.data.slink.nlink;
        default:
            return 1;
    }
}

void list_tree(const sqfs_tree_node_t& node, const std::string& path, std::vector<SquashfsEntry>& out) {
    const sqfs_inode_generic_t& inode = *node.inode;
    SquashfsEntry entry{.path = path,
                        .type = type_of(inode),
                        .mode = inode.base.mode & 07777U,
                        .user = node.uid,
                        .group = node.gid,
                        .mtime = inode.base.mod_time,
                        .inode = inode.base.inode_number,
                        .links = links_of(inode),
                        .size = 0,
                        .target = ""};
    sqfs_u64 size = 0;
    if (entry.type == 'f' && sqfs_inode_get_file_size(&inode, &size) == 0) entry.size = size;
    if (entry.type == 'l')
        entry.target.assign(reinterpret_cast<const char*>(inode.extra), inode.data.slink.target_size);
    out.push_back(std::move(entry));
    for (const sqfs_tree_node_t* child = node.children; child != nullptr; child = child->next) {
        std::string name(reinterpret_cast<const char*>(child->name));
        list_tree(*child, path.empty() ? name : path + "/" + name, out);
    }
}

}  // namespace

struct SquashfsReader::State {
    State(core::Descriptor fd, uint64_t bytes, std::string name_in)
        : descriptor(std::move(fd)), file(descriptor.get(), bytes), name(std::move(name_in)) {}
    Result<> check(int code) const {
        return code == 0 ? Result<>() : Result<>(file.failure(code, "read", name));
    }

    core::Descriptor descriptor;
    SquashfsFile file;
    std::string name;
    sqfs_super_t super{};
    SquashfsPointer<sqfs_compressor_t> unpacker;
    SquashfsPointer<sqfs_id_table_t> ids;
    SquashfsPointer<sqfs_dir_reader_t> directories;
    SquashfsPointer<sqfs_data_reader_t> content;
};

SquashfsReader::SquashfsReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
SquashfsReader::SquashfsReader(SquashfsReader&&) noexcept = default;
SquashfsReader::~SquashfsReader() = default;

namespace {

// The super block, checked against the size of the file.
Result<sqfs_super_t> read_super(SquashfsFile& file, const std::string& name) {
    sqfs_super_t super{};
    int code = file.size < sizeof(super) ? SFQS_ERROR_SUPER_MAGIC : sqfs_super_read(&super, &file.interface);
    if (code != 0 && file.failed_errno != 0) return file.failure(code, "read", name);
    if (code != 0)
        return std::unexpected(
            file.failure(code, "use", name)
                .error()
                .as(core::ErrorKind::kBadInput)
                .hint("an image file is made by mksquashfs, enroot import or belay env pull"));
    if (super.bytes_used > file.size)
        return bad_input("cannot use {}: it says {} bytes and has {}", name, super.bytes_used, file.size)
            .hint("the file is cut off; copy or make it again");
    // libsquashfs takes memory for as many as there are said to be. Of 512 there is a block, and 8 bytes say
    // where that lies.
    if (super.fragment_entry_count / 512 * 8 > file.size)
        return bad_input("cannot use {}: it says that it has {} fragments, in {} bytes", name,
                         super.fragment_entry_count, file.size)
            .hint("the file is damaged; copy or make it again");
    return super;
}

Result<std::pair<core::Descriptor, uint64_t>> open_regular(const std::filesystem::path& path) {
    BELAY_TRY(fd, core::open_file(path, O_RDONLY | O_NONBLOCK));
    struct stat facts{};
    if (fstat(fd.get(), &facts) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (!S_ISREG(facts.st_mode)) return bad_input("{} is not a regular file", path.string());
    return std::pair(std::move(fd), static_cast<uint64_t>(facts.st_size));
}

}  // namespace

Result<SquashfsFacts> squashfs_facts(const std::filesystem::path& path) {
    BELAY_TRY(opened, open_regular(path));
    SquashfsFile file(opened.first.get(), opened.second);
    BELAY_TRY(super, read_super(file, path.string()));
    SquashfsFacts out{.bytes = super.bytes_used, .inodes = super.inode_count, .compression = "unknown"};
    for (auto [id, name] : kCompressions)
        if (super.compression_id == id) out.compression = name;
    return out;
}

Result<SquashfsReader> SquashfsReader::open(const std::filesystem::path& path) {
    BELAY_TRY(opened, open_regular(path));
    auto state = std::make_unique<State>(std::move(opened.first), opened.second, path.string());
    BELAY_TRY(super, read_super(state->file, state->name));
    state->super = super;
    sqfs_compressor_config_t configuration;
    sqfs_compressor_t* unpacker = nullptr;
    int code = sqfs_compressor_config_init(&configuration, static_cast<SQFS_COMPRESSOR>(super.compression_id),
                                           super.block_size, SQFS_COMP_FLAG_UNCOMPRESS);
    if (code == 0) code = sqfs_compressor_create(&configuration, &unpacker);
    BELAY_CHECK(state->check(code));
    state->unpacker.reset(unpacker);
    state->ids.reset(sqfs_id_table_create(0));
    sqfs_file_t* file = &state->file.interface;
    if (!state->ids) return std::unexpected(state->check(SQFS_ERROR_ALLOC).error());
    BELAY_CHECK(state->check(sqfs_id_table_read(state->ids.get(), file, &state->super, unpacker)));
    state->directories.reset(sqfs_dir_reader_create(&state->super, unpacker, file, 0));
    state->content.reset(sqfs_data_reader_create(file, super.block_size, unpacker, 0));
    if (!state->directories || !state->content)
        return std::unexpected(state->check(SQFS_ERROR_ALLOC).error());
    BELAY_CHECK(state->check(sqfs_data_reader_load_fragment_table(state->content.get(), &state->super)));
    return SquashfsReader(std::move(state));
}

Result<std::vector<SquashfsEntry>> SquashfsReader::list() const {
    sqfs_tree_node_t* tree = nullptr;
    BELAY_CHECK(state_->check(
        sqfs_dir_reader_get_full_hierarchy(state_->directories.get(), state_->ids.get(), nullptr, 0, &tree)));
    std::unique_ptr<sqfs_tree_node_t, FreeTree> owner(tree);
    std::vector<SquashfsEntry> out;
    list_tree(*tree, "", out);
    return out;
}

Result<std::string> SquashfsReader::read(const std::string& path, size_t limit) const {
    BELAY_TRY(found, read_if_there(path, limit));
    if (!found) return core::system_error("{} has no file {}", state_->name, path);
    return std::move(*found);
}

Result<std::optional<std::string>> SquashfsReader::read_if_there(const std::string& path,
                                                                 size_t limit) const {
    sqfs_inode_generic_t* found = nullptr;
    int code = sqfs_dir_reader_find_by_path(state_->directories.get(), nullptr, path.c_str(), &found);
    if (code == SQFS_ERROR_NO_ENTRY || code == SQFS_ERROR_NOT_DIR) return std::nullopt;
    BELAY_CHECK(state_->check(code));
    std::unique_ptr<sqfs_inode_generic_t, FreeInode> inode(found);
    sqfs_u64 size = 0;
    if (type_of(*inode) != 'f') return std::nullopt;
    BELAY_CHECK(state_->check(sqfs_inode_get_file_size(inode.get(), &size)));
    if (size > limit) return core::system_error("{} in {} has {} bytes", path, state_->name, size);
    std::string out(size, '\0');
    size_t at = 0;
    while (at < out.size()) {
        sqfs_s32 n = sqfs_data_reader_read(state_->content.get(), inode.get(), at, out.data() + at,
                                           static_cast<sqfs_u32>(out.size() - at));
        if (n <= 0) return std::unexpected(state_->check(n == 0 ? SQFS_ERROR_OUT_OF_BOUNDS : n).error());
        at += static_cast<size_t>(n);
    }
    return out;
}

}  // namespace belay::image

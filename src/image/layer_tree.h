// One layer as a tree of names, and the merged tree of all layers: pure, of values. No bytes of files here;
// an inode says which entry of which layer holds them.
//
// Rules (OCI image specification 1.1, layer.md): ".wh.X" hides X of lower layers, ".wh..wh..opq" all lower
// siblings, wherever in the tar it stands; neither hides what its own layer has. Only regular files are
// markers. What is not a directory hides the children of a lower directory. Entries below dev/ and AUFS's own
// files (".wh..wh.*") are left out. A hard link means the inode that its target has in the view of its own
// layer, also if a newer layer replaces or hides that name.
//
// A parent that is not a directory is replaced by one, so that no name ever leads through a symbolic link;
// within a tar the later entry wins.
#pragma once

#include "image/tar_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

using InodeNumber = uint32_t;

// What one or more names stand for; kHardLink never.
struct Inode {
    EntryKind kind = EntryKind::kDirectory;
    uint32_t mode = 0755;
    int64_t mtime = 0;
    uint64_t size = 0;                        // of a file
    std::string target;                       // of a symbolic link
    uint32_t layer = 0;                       // a file's bytes: in which layer,
    uint64_t ordinal = 0;                     // and which entry of its tar, counted from 0
    bool implied = false;                     // a directory that only names below it speak of
    std::optional<InodeNumber> link_to = {};  // while layers are merged: where a hard link leads
};

struct Node {
    InodeNumber inode = 0;
    std::map<std::string, Node, std::less<>> children;  // of a directory
    std::set<std::string, std::less<>> whiteouts;       // names hidden in lower layers
    bool opaque = false;                                // all lower names are hidden
};

// A hard link whose target is not in its own layer.
struct PendingLink {
    std::string name;
    std::string target;
    InodeNumber placeholder = 0;  // what stands for it until the layers below are known
};

// All inodes of an image's layers, those of one layer added together, and how many bytes the names and
// targets have with which they were added.
class Inodes {
  public:
    Inode& operator[](InodeNumber number) { return all_[number]; }
    const Inode& operator[](InodeNumber number) const { return all_[number]; }
    size_t size() const { return all_.size(); }
    InodeNumber add(Inode inode) {
        all_.push_back(std::move(inode));
        return static_cast<InodeNumber>(all_.size() - 1);
    }
    void count_name(std::string_view name) { name_bytes_ += name.size(); }
    uint64_t name_bytes() const { return name_bytes_; }

  private:
    std::vector<Inode> all_;
    uint64_t name_bytes_ = 0;
};

struct LayerTree {
    Node root;
    std::vector<PendingLink> pending;
};

// Puts the entries of a layer's tar, in their order, into a tree.
class LayerTreeBuilder {
  public:
    LayerTreeBuilder(Inodes& inodes, uint32_t layer, const ImportLimits& limits = {});
    // Errors: kSystem for an invalid whiteout, or more names than the limits allow for the whole image.
    core::Result<> add(const TarEntry& entry);
    LayerTree finish() && { return std::move(tree_); }

  private:
    core::Result<> add_entry(const TarEntry& entry);
    InodeNumber new_inode(Inode inode);
    Node& child_directory(Node& parent, std::string_view name);
    void put(Node& parent, std::string_view name, Inode inode);
    core::Result<> add_link(Node& parent, std::string_view name, const TarEntry& entry);
    core::Result<> add_whiteout(Node& parent, std::string_view name, const TarEntry& entry);

    Inodes& inodes_;
    uint32_t layer_;
    uint64_t most_nodes_;
    uint64_t most_name_bytes_;
    uint64_t ordinal_ = 0;
    LayerTree tree_;
};

// Layers from the lowest to the highest. What is in the result is visible in the image. Errors: kSystem for a
// hard link to nothing, or to a directory.
core::Result<Node> merge_layers(Inodes& inodes, std::vector<LayerTree> layers);

// The node of a path ("a/b") in a merged tree, or nullptr: for tests and for reading an image's tree.
const Node* find_node(const Node& root, std::string_view path);

}  // namespace belay::image

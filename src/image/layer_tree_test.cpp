#include "image/layer_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

using testing::HasSubstr;

using Entries = std::vector<TarEntry>;

TarEntry file(std::string name, uint64_t size = 1) {
    return {.name = std::move(name),
            .kind = EntryKind::kFile,
            .mode = 0644,
            .mtime = 7,
            .size = size,
            .target = ""};
}
TarEntry directory(std::string name, uint32_t mode = 0700) {
    return {.name = std::move(name),
            .kind = EntryKind::kDirectory,
            .mode = mode,
            .mtime = 7,
            .size = 0,
            .target = ""};
}
TarEntry symlink(std::string name, std::string target) {
    return {.name = std::move(name),
            .kind = EntryKind::kSymlink,
            .mode = 0777,
            .mtime = 7,
            .size = 0,
            .target = std::move(target)};
}
TarEntry link(std::string name, std::string target) {
    return {.name = std::move(name),
            .kind = EntryKind::kHardLink,
            .mode = 0,
            .mtime = 7,
            .size = 0,
            .target = std::move(target)};
}
TarEntry device(std::string name) {
    return {
        .name = std::move(name), .kind = EntryKind::kOther, .mode = 0, .mtime = 7, .size = 0, .target = ""};
}

void list(const Inodes& inodes, const Node& node, const std::string& prefix, std::string& out) {
    for (const auto& [name, child] : node.children) {
        const Inode& inode = inodes[child.inode];
        std::string path = prefix + name;
        switch (inode.kind) {
            case EntryKind::kDirectory:
                out += path + "/ ";
                break;
            case EntryKind::kSymlink:
                out += path + "->" + inode.target + " ";
                break;
            // A file is shown with the layer and entry that hold its bytes: two names of one inode look the
            // same.
            case EntryKind::kFile:
                out += fmt::format("{}={}.{} ", path, inode.layer, inode.ordinal);
                break;
            default:
                out += path + "? ";
                break;
        }
        list(inodes, child, path + "/", out);
    }
}

struct Merged {
    Inodes inodes;
    core::Result<Node> tree;
    std::string text() const {
        if (!tree) return "error: " + tree.error().message();
        std::string out;
        list(inodes, *tree, "", out);
        return out.empty() ? out : out.substr(0, out.size() - 1);
    }
};

// Layers from the lowest to the highest.
Merged merge(const std::vector<Entries>& layers) {
    Merged out{.inodes = {}, .tree = Node()};
    std::vector<LayerTree> trees;
    for (const Entries& entries : layers) {
        LayerTreeBuilder builder(out.inodes, static_cast<uint32_t>(trees.size()));
        for (const TarEntry& entry : entries) {
            if (auto added = builder.add(entry); !added) {
                out.tree = std::unexpected(added.error());
                return out;
            }
        }
        trees.push_back(std::move(builder).finish());
    }
    out.tree = merge_layers(out.inodes, std::move(trees));
    return out;
}

struct Case {
    std::string what;
    std::vector<Entries> layers;
    std::string expected;
};

TEST(image, layers_merge) {
    const Case kCases[] = {
        {"nothing", {}, ""},
        {"one layer", {{directory("a"), file("a/x"), symlink("l", "a")}}, "a/ a/x=0.1 l->a"},
        {"upper replaces lower", {{file("x")}, {file("x")}}, "x=1.0"},
        {"upper adds", {{file("a/x")}, {file("a/y")}}, "a/ a/x=0.0 a/y=1.0"},
        {"whiteout", {{file("a/x"), file("a/y")}, {file("a/.wh.x")}}, "a/ a/y=0.1"},
        {"whiteout of a directory", {{file("a/x")}, {file(".wh.a")}}, ""},
        {"whiteout of nothing", {{file("x")}, {file(".wh.y")}}, "x=0.0"},
        {"whiteout does not hide its own layer", {{file("x")}, {file(".wh.x"), file("x")}}, "x=1.1"},
        {"whiteout behind the file does not hide it", {{file("x")}, {file("x"), file(".wh.x")}}, "x=1.0"},
        {"whiteout and a new directory", {{file("a/x")}, {file(".wh.a"), file("a/y")}}, "a/ a/y=1.1"},
        {"whiteout does not hide upper", {{file("x")}, {file(".wh.x")}, {file("x")}}, "x=2.0"},
        {"whiteout hides two layers down", {{file("x")}, {file("y")}, {file(".wh.x")}}, "y=1.0"},
        {"whiteout below an upper directory", {{file("a/x")}, {file(".wh.a")}, {file("a/y")}}, "a/ a/y=2.0"},
        {"whiteout of a name with blanks", {{file("a b")}, {file(".wh.a b")}}, ""},
        {"opaque", {{file("a/x")}, {file("a/.wh..wh..opq"), file("a/y")}}, "a/ a/y=1.1"},
        {"opaque at the end of its tar",
         {{file("a/x")}, {file("a/y"), file("a/.wh..wh..opq")}},
         "a/ a/y=1.0"},
        {"opaque root", {{file("x")}, {file("y"), file(".wh..wh..opq")}}, "y=1.0"},
        {"opaque does not hide upper",
         {{file("a/x")}, {file("a/.wh..wh..opq")}, {file("a/z")}},
         "a/ a/z=2.0"},
        {"opaque in the middle",
         {{file("a/x")}, {file("a/.wh..wh..opq"), file("a/y")}, {file("a/z")}},
         "a/ a/y=1.1 a/z=2.0"},
        {"file replaces directory", {{file("a/x")}, {file("a")}}, "a=1.0"},
        {"link replaces directory", {{file("a/x")}, {symlink("a", "b")}}, "a->b"},
        {"directory replaces file", {{file("a")}, {file("a/x")}}, "a/ a/x=1.0"},
        {"directory over file over directory", {{file("a/x")}, {file("a")}, {file("a/y")}}, "a/ a/y=2.0"},
        {"directory replaces link",
         {{symlink("a", "b"), file("b/x")}, {file("a/y")}},
         "a/ a/y=1.0 b/ b/x=0.1"},
        {"later entry wins", {{file("x"), file("x", 2)}}, "x=0.1"},
        {"file over directory in a tar", {{file("a/x"), file("a")}}, "a=0.1"},
        {"only files are markers", {{file("x")}, {directory(".wh.x")}}, ".wh.x/ x=0.0"},
        {"a link is no marker", {{file("x")}, {symlink(".wh.x", "y")}}, ".wh.x->y x=0.0"},
        {"AUFS files are left out",
         {{file(".wh..wh.aufs"), directory(".wh..wh.plnk"), file(".wh..wh.plnk/1.2"), file("x")}},
         "x=0.3"},
        {"devices are left out",
         {{directory("dev"), device("dev/null"), file("dev/shm"), device("fifo")}},
         "dev/"},
        {"a device hides", {{file("x"), file("y")}, {device("x")}}, "y=0.1"},
        {"bare whiteout", {{file(".wh.")}}, "error: the whiteout \".wh.\" names nothing"},
        {"whiteout of .", {{file("a/.wh..")}}, "error: the whiteout \"a/.wh..\" names nothing"},
        {"whiteout of ..", {{file(".wh...")}}, "error: the whiteout \".wh...\" names nothing"},
        {"bare AUFS name", {{file(".wh..wh..")}}, "error: the whiteout \".wh..wh..\" names nothing"},
    };
    for (const Case& row : kCases) EXPECT_EQ(merge(row.layers).text(), row.expected) << row.what;
}

TEST(image, hard_links_mean_the_inode_of_their_own_view) {
    const Case kCases[] = {
        {"in a layer", {{file("x"), link("y", "x")}}, "x=0.0 y=0.0"},
        {"to a lower layer", {{file("x")}, {link("y", "x")}}, "x=0.0 y=0.0"},
        {"to a file that a newer layer replaces", {{file("x"), link("y", "x")}, {file("x")}}, "x=1.0 y=0.0"},
        {"to a file that a newer layer hides", {{file("x"), link("y", "x")}, {file(".wh.x")}}, "y=0.0"},
        {"across layers, hidden later", {{file("x")}, {link("y", "x")}, {file(".wh.x")}}, "y=0.0"},
        {"across layers, replaced later", {{file("x")}, {link("y", "x")}, {file("x")}}, "x=2.0 y=0.0"},
        {"whose name is replaced in its tar", {{file("x"), link("y", "x"), file("x")}}, "x=0.2 y=0.0"},
        {"replaced by a file", {{file("x"), link("y", "x"), file("y")}}, "x=0.0 y=0.2"},
        {"to the newer of two lower files", {{file("x")}, {file("x")}, {link("y", "x")}}, "x=1.0 y=1.0"},
        {"in a directory that is hidden later", {{file("a/x"), link("y", "a/x")}, {file(".wh.a")}}, "y=0.0"},
        {"to a symbolic link", {{symlink("x", "z"), link("y", "x")}}, "x->z y->z"},
        {"of a link", {{file("x"), link("y", "x"), link("z", "y")}}, "x=0.0 y=0.0 z=0.0"},
        {"of a link across layers",
         {{file("x")}, {link("y", "x"), link("z", "y")}, {link("w", "z"), file(".wh.x")}},
         "w=0.0 y=0.0 z=0.0"},
        {"before its target", {{link("y", "x"), file("x")}}, "x=0.1 y=0.1"},
        {"to itself, from below", {{file("x")}, {link("x", "x")}}, "x=0.0"},
        {"to itself, in its layer", {{file("x"), link("x", "x")}}, "x=0.0"},
        {"to nothing", {{link("y", "x")}}, "error: \"y\" is a hard link to what is not there: \"x\""},
        {"to itself", {{link("y", "y")}}, "error: \"y\" is a hard link to what is not there: \"y\""},
        {"in a ring",
         {{link("x", "y"), link("y", "x")}},
         "error: \"x\" is a hard link to what is not there: \"y\""},
        {"to what its own layer hides",
         {{file("x")}, {file(".wh.x"), link("y", "x")}},
         "error: \"y\" is a hard link to what is not there: \"x\""},
        {"below what its own layer hides",
         {{file("a/x")}, {file(".wh.a"), link("y", "a/x")}},
         "error: \"y\" is a hard link to what is not there: \"a/x\""},
        {"to a directory",
         {{directory("a"), link("y", "a")}},
         "error: \"y\" is a hard link to the directory \"a\""},
        {"to a lower directory",
         {{directory("a")}, {link("y", "a")}},
         "error: \"y\" is a hard link to the directory \"a\""},
        {"through a symbolic link",
         {{file("a/x"), symlink("l", "a")}, {link("y", "l/x")}},
         "error: \"y\" is a hard link to what is not there: \"l/x\""},
        {"to a device", {{device("x"), link("y", "x")}}, ""},
        {"as a parent", {{file("x"), link("y", "x"), file("y/z")}}, "x=0.0 y/ y/z=0.2"},
    };
    for (const Case& row : kCases) EXPECT_EQ(merge(row.layers).text(), row.expected) << row.what;
}

TEST(image, hard_links_share_an_inode) {
    Merged merged = merge({{file("x")}, {link("y", "x")}});
    ASSERT_TRUE(merged.tree);
    EXPECT_EQ(find_node(*merged.tree, "x")->inode, find_node(*merged.tree, "y")->inode);
}

TEST(image, directories_take_the_newest_word_on_themselves) {
    auto mode_of = [](const Merged& merged, std::string_view path) {
        return merged.inodes[find_node(*merged.tree, path)->inode].mode;
    };
    EXPECT_EQ(mode_of(merge({{directory("a", 0711)}, {directory("a", 0750)}}), "a"), 0750u);
    EXPECT_EQ(mode_of(merge({{directory("a", 0711)}, {file("a/x")}}), "a"), 0711u);
    EXPECT_EQ(mode_of(merge({{file("a/x"), directory("a", 0711)}}), "a"), 0711u);
    EXPECT_EQ(mode_of(merge({{file("a/x")}}), "a"), 0755u);
    EXPECT_EQ(mode_of(merge({{directory("", 0700)}, {file("x")}}), ""), 0700u);
    EXPECT_EQ(mode_of(merge({{directory("a", 0711)}, {file(".wh.a"), file("a/x")}}), "a"), 0755u);
}

}  // namespace
}  // namespace belay::image

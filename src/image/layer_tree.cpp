#include "image/layer_tree.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufs = ".wh..wh.";
constexpr std::string_view kAufsBare = ".wh..wh..";
constexpr std::array kNoNames = {std::string_view(""), std::string_view("."), std::string_view(".."),
                                 std::string_view(".wh."), std::string_view(".wh..")};
constexpr std::string_view kDevices = "dev";

std::vector<std::string_view> components(std::string_view name) {
    return name.empty() ? std::vector<std::string_view>() : core::split(name, '/');
}

bool is_directory(const Inodes& inodes, const Node& node) {
    return inodes[node.inode].kind == EntryKind::kDirectory;
}

// Where a name in a layer stands, seen from above.
enum class Lookup { kFound, kHidden, kAbsent };

Lookup look_up(const Inodes& inodes, const Node& root, std::string_view path, const Node*& found) {
    const Node* at = &root;
    bool hides_lower = root.opaque;
    for (std::string_view name : components(path)) {
        if (!is_directory(inodes, *at)) return Lookup::kHidden;
        auto child = at->children.find(name);
        if (child == at->children.end()) {
            bool hidden = hides_lower || at->whiteouts.contains(name);
            return hidden ? Lookup::kHidden : Lookup::kAbsent;
        }
        // A directory that stands beside its own whiteout hides the lower one of its name.
        if (at->whiteouts.contains(name)) hides_lower = true;
        at = &child->second;
        hides_lower = hides_lower || at->opaque;
    }
    found = at;
    return Lookup::kFound;
}

// Puts a lower directory below an upper one of the same name.
void merge_directory(Inodes& inodes, Node& upper, Node&& lower) {
    for (auto& [name, child] : lower.children) {
        if (upper.whiteouts.contains(name)) continue;
        auto own = upper.children.find(name);
        if (own == upper.children.end()) {
            upper.children.emplace(name, std::move(child));
            continue;
        }
        if (!is_directory(inodes, own->second)) continue;
        if (!is_directory(inodes, child)) {
            own->second.opaque = true;  // what lies below that file was hidden by it
            continue;
        }
        if (inodes[own->second.inode].implied && !own->second.opaque) own->second.inode = child.inode;
        if (!own->second.opaque) merge_directory(inodes, own->second, std::move(child));
    }
    for (const std::string& name : lower.whiteouts) {
        if (auto own = upper.children.find(name);
            own != upper.children.end() && is_directory(inodes, own->second))
            own->second.opaque = true;
        upper.whiteouts.insert(name);
    }
    upper.opaque = upper.opaque || lower.opaque;
}

// A layer's own whiteouts do not hide what it has itself, but keep lower directories from mixing with it.
void apply_own_whiteouts(Node& node) {
    for (auto& [name, child] : node.children) {
        if (node.whiteouts.contains(name)) child.opaque = true;
        apply_own_whiteouts(child);
    }
}

// The inode that a chain of placeholders of hard links ends at. They are chained end to end, so there is no
// ring.
InodeNumber follow(const Inodes& inodes, InodeNumber number) {
    while (inodes[number].kind == EntryKind::kHardLink && inodes[number].link_to)
        number = *inodes[number].link_to;
    return number;
}

core::Failure bad_link(const PendingLink& link, std::string_view kind) {
    return system_error("\"{}\" is a hard link to {} \"{}\"", core::printable(link.name), kind,
                        core::printable(link.target));
}

// Gives each pending link of a layer the inode of its target: in its own layer (further back in the tar), or
// as seen below it.
Result<> resolve_links(Inodes& inodes, std::vector<LayerTree>& layers, size_t layer) {
    for (const PendingLink& link : layers[layer].pending) {
        const Node* found = nullptr;
        Lookup result = look_up(inodes, layers[layer].root, link.target, found);
        if (result == Lookup::kFound && follow(inodes, found->inode) == link.placeholder)
            result = Lookup::kAbsent;
        for (size_t i = layer; i-- > 0 && result == Lookup::kAbsent;)
            result = look_up(inodes, layers[i].root, link.target, found);
        if (result != Lookup::kFound) return bad_link(link, "what is not there:");
        if (is_directory(inodes, *found)) return bad_link(link, "the directory");
        InodeNumber end = follow(inodes, found->inode);
        if (end == link.placeholder) return bad_link(link, "itself through");
        inodes[link.placeholder].link_to = end;
    }
    return {};
}

// No placeholder is left in the tree, and no device.
void settle(const Inodes& inodes, Node& node) {
    node.inode = follow(inodes, node.inode);
    for (auto& child : node.children | std::views::values) settle(inodes, child);
    std::erase_if(node.children, [&](const auto& item) {
        EntryKind kind = inodes[item.second.inode].kind;
        return kind == EntryKind::kOther || kind == EntryKind::kHardLink;
    });
}

}  // namespace

LayerTreeBuilder::LayerTreeBuilder(Inodes& inodes, uint32_t layer, const ImportLimits& limits)
    : inodes_(inodes), layer_(layer), most_nodes_(limits.nodes), most_name_bytes_(limits.name_bytes) {
    tree_.root.inode = new_inode({.implied = true});
}

InodeNumber LayerTreeBuilder::new_inode(Inode inode) {
    inode.layer = layer_;
    inode.ordinal = ordinal_;
    inodes_.count_name(inode.target);
    return inodes_.add(std::move(inode));
}

Node& LayerTreeBuilder::child_directory(Node& parent, std::string_view name) {
    auto found = parent.children.find(name);
    if (found == parent.children.end()) {
        inodes_.count_name(name);
        found = parent.children.emplace(std::string(name), Node{.inode = new_inode({.implied = true})}).first;
    } else if (!is_directory(inodes_, found->second))
        // What stood here as a link or a file hid a lower directory of this name.
        found->second = Node{.inode = new_inode({.implied = false}), .opaque = true};
    return found->second;
}

void LayerTreeBuilder::put(Node& parent, std::string_view name, Inode inode) {
    bool directory = inode.kind == EntryKind::kDirectory;
    auto found = parent.children.find(name);
    if (found == parent.children.end()) {
        InodeNumber number = new_inode(std::move(inode));
        inodes_.count_name(name);
        parent.children.emplace(std::string(name), Node{.inode = number});
        return;
    }
    bool was_directory = is_directory(inodes_, found->second);
    InodeNumber number = new_inode(std::move(inode));
    if (directory && was_directory)
        found->second.inode = number;  // the children stay
    else
        found->second = Node{.inode = number, .opaque = directory};
}

Result<> LayerTreeBuilder::add_whiteout(Node& parent, std::string_view name, const TarEntry& entry) {
    if (name == kOpaque) {
        parent.opaque = true;
        return {};
    }
    std::string_view hidden = name.substr(kWhiteout.size());
    if (std::ranges::find(kNoNames, hidden) != kNoNames.end())
        return system_error("the whiteout \"{}\" names nothing", core::printable(entry.name));
    // It holds memory as a name does.
    if (parent.whiteouts.emplace(hidden).second) inodes_.count_name(entry.name);
    return {};
}

Result<> LayerTreeBuilder::add_link(Node& parent, std::string_view name, const TarEntry& entry) {
    const Node* found = nullptr;
    if (look_up(inodes_, tree_.root, entry.target, found) == Lookup::kFound) {
        if (is_directory(inodes_, *found))
            return system_error("\"{}\" is a hard link to the directory \"{}\"", core::printable(entry.name),
                                core::printable(entry.target));
        InodeNumber target = found->inode;
        // A link onto itself leaves everything as it is.
        if (entry.target != entry.name) {
            put(parent, name, {.kind = EntryKind::kFile});
            parent.children.find(name)->second.inode = target;
        }
        return {};
    }
    put(parent, name, {.kind = EntryKind::kHardLink});
    inodes_.count_name(entry.name);
    inodes_.count_name(entry.target);
    tree_.pending.push_back({entry.name, entry.target, parent.children.find(name)->second.inode});
    return {};
}

Result<> LayerTreeBuilder::add(const TarEntry& entry) {
    BELAY_CHECK(add_entry(entry));
    if (inodes_.size() > most_nodes_)
        return system_error("the image has more than {} names in its layers", most_nodes_);
    if (inodes_.name_bytes() > most_name_bytes_)
        return system_error("the names of the image have more than {} bytes", most_name_bytes_);
    return {};
}

Result<> LayerTreeBuilder::add_entry(const TarEntry& entry) {
    std::vector<std::string_view> path = components(entry.name);
    auto counted = [this](Result<> result) {
        ++ordinal_;
        return result;
    };
    if (path.empty()) {
        Inode root{.kind = EntryKind::kDirectory, .mode = entry.mode, .mtime = entry.mtime};
        tree_.root.inode = new_inode(std::move(root));
        return counted({});
    }
    std::string_view name = path.back();
    bool marker = entry.kind == EntryKind::kFile && name.starts_with(kWhiteout);
    auto is_aufs = [](std::string_view component) {
        return component.starts_with(kAufs) && component != kOpaque && component != kAufs &&
               component != kAufsBare;
    };
    if (std::ranges::any_of(path, is_aufs)) return counted({});
    if (path.size() > 1 && path.front() == kDevices) return counted({});
    Node* parent = &tree_.root;
    for (size_t i = 0; i + 1 < path.size(); ++i) parent = &child_directory(*parent, path[i]);
    if (marker) return counted(add_whiteout(*parent, name, entry));
    if (entry.kind == EntryKind::kHardLink) return counted(add_link(*parent, name, entry));
    put(*parent, name,
        {.kind = entry.kind,
         .mode = entry.mode,
         .mtime = entry.mtime,
         .size = entry.size,
         .target = entry.target});
    return counted({});
}

Result<Node> merge_layers(Inodes& inodes, std::vector<LayerTree> layers) {
    for (size_t i = 0; i < layers.size(); ++i) BELAY_CHECK(resolve_links(inodes, layers, i));
    Node merged{.inode = 0};
    if (layers.empty()) {
        merged.inode = inodes.add({});
        return merged;
    }
    for (LayerTree& layer : layers) apply_own_whiteouts(layer.root);
    merged = std::move(layers.back().root);
    layers.pop_back();
    for (LayerTree& layer : std::views::reverse(layers)) {
        if (inodes[merged.inode].implied) merged.inode = layer.root.inode;
        if (merged.opaque) break;
        merge_directory(inodes, merged, std::move(layer.root));
    }
    settle(inodes, merged);
    return merged;
}

const Node* find_node(const Node& root, std::string_view path) {
    const Node* at = &root;
    for (std::string_view name : components(path)) {
        auto child = at->children.find(name);
        if (child == at->children.end()) return nullptr;
        at = &child->second;
    }
    return at;
}

}  // namespace belay::image

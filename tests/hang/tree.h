// What a FUSE request asks of the tree of files that is shown: each operation is carried out on the real
// files and answers the bytes of the reply, or an errno. Follows linux/fuse.h, protocol 7.
#pragma once

#include "core/file.h"

#include <cstdint>
#include <expected>
#include <linux/fuse.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hang {

struct Request {
    fuse_in_header header;
    std::string_view body;  // what follows the header

    // The fixed part of the body; zeros where the body is shorter.
    template <typename T>
    T as() const {
        T value{};
        body.copy(reinterpret_cast<char*>(&value), sizeof value);
        return value;
    }
    // The n-th of the strings, each ended by a zero byte, that follow `skip` bytes of the body.
    std::string text(size_t skip, int n = 0) const;
};

using Reply = std::expected<std::string, int>;  // its bytes, or an errno

class Tree {
  public:
    explicit Tree(core::Descriptor root);

    // Below the root, "" for the root itself.
    std::string path_of(uint64_t node) const;

    Reply lookup(const Request& request);
    Reply attributes(const Request& request);
    Reply set_attributes(const Request& request);
    Reply read_link(const Request& request);
    Reply make_link(const Request& request);
    Reply make_symbolic_link(const Request& request);
    Reply make_node(const Request& request);
    Reply make_directory(const Request& request);
    Reply unlink(const Request& request);
    Reply remove_directory(const Request& request);
    Reply rename(const Request& request);
    Reply rename_with_flags(const Request& request);
    Reply create(const Request& request);
    Reply open(const Request& request);
    Reply read(const Request& request);
    Reply write(const Request& request);
    Reply sync(const Request& request);
    Reply allocate(const Request& request);
    Reply flush(const Request& request);
    Reply close(const Request& request);
    Reply open_directory(const Request& request);
    Reply read_directory(const Request& request);
    Reply close_directory(const Request& request);
    Reply size(const Request& request);

  private:
    int fd(uint64_t node) const { return nodes_.at(node).get(); }
    Reply entry(uint64_t parent, const std::string& name);
    Reply renamed(const Request& request, uint64_t target, size_t skip, unsigned flags);

    std::vector<core::Descriptor> nodes_;  // O_PATH, so that a renamed file stays the same node
    std::map<std::pair<dev_t, ino_t>, uint64_t> known_;
};

}  // namespace belay::hang

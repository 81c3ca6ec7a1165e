#include "procfs/mountinfo.h"

#include "procfs/scan.h"

#include <algorithm>
#include <utility>

namespace belay::procfs {

namespace {

bool is_octal(char c) {
    return c >= '0' && c <= '7';
}

}  // namespace

bool has_option(std::string_view options, std::string_view wanted) {
    while (true) {
        size_t comma = options.find(',');
        if (options.substr(0, comma) == wanted) return true;
        if (comma == std::string_view::npos) return false;
        options.remove_prefix(comma + 1);
    }
}

std::string unescape_octal(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
            is_octal(text[i + 2]) && is_octal(text[i + 3])) {
            out +=
                static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

// "27 1 254:0 / /mnt rw,relatime master:1 - ext4 /dev/vda rw,discard": a number of optional fields ends with
// "-".
std::vector<Mount> parse_mountinfo(std::string_view text) {
    std::vector<Mount> mounts;
    std::string_view line;
    for (Lines lines(text); lines.next(line);) {
        Words words(line);
        words.skip(2);  // mount id, parent id
        Mount mount;
        mount.device = words.next();
        mount.root = unescape_octal(words.next());
        mount.mount_point = unescape_octal(words.next());
        mount.options = words.next();
        std::string_view word = words.next();
        while (!word.empty() && word != "-") word = words.next();
        mount.type = unescape_octal(words.next());
        // An empty source is written as nothing between two blanks, so what follows would take its place.
        std::string_view source = words.rest().starts_with("  ") ? std::string_view() : words.next();
        mount.source = unescape_octal(source);
        mount.read_only = has_option(mount.options, "ro") || has_option(words.next(), "ro");
        if (!mount.type.empty() && mount.mount_point.starts_with('/')) mounts.push_back(std::move(mount));
    }
    return mounts;
}

const Mount* mounted_on(std::span<const Mount> mounts, std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    auto found = std::find_if(mounts.rbegin(), mounts.rend(),
                              [&](const Mount& mount) { return mount.mount_point == path; });
    return found == mounts.rend() ? nullptr : &*found;
}

}  // namespace belay::procfs

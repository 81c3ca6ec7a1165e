// /proc/PID/mountinfo: what is mounted where. See proc_pid_mountinfo(5).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::procfs {

// Texts are as the kernel knows them, with the octal escapes of the file undone; any bytes but NUL may be in
// them.
struct Mount {
    std::string device;     // "254:0": one file system, however often it is mounted
    std::string root = {};  // the part of it that is mounted, "/" for all of it
    std::string mount_point;
    std::string type;
    std::string source;
    std::string options;     // of this mount: "rw,nosuid,nodev,relatime"
    bool read_only = false;  // here, or the file system as a whole
};

// All mounts, in the kernel's order. Lines that are no mounts are passed over.
std::vector<Mount> parse_mountinfo(std::string_view text);

// What is seen at a path, which must be a mount point itself: the last mount there hides the earlier ones.
// Null if nothing is mounted on it.
const Mount* mounted_on(std::span<const Mount> mounts, std::string_view path);

// Whether `wanted` is one of the options, which commas separate.
bool has_option(std::string_view options, std::string_view wanted);

// Undoes \040, \011, \012, \043 and \134; a backslash before anything but three octal digits stays.
std::string unescape_octal(std::string_view text);

}  // namespace belay::procfs

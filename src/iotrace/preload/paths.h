// On which device a name is looked for: that of its directory, remembered by a hash of the directory's name,
// since most names of a job are in few directories. So also names that are not there can be counted for a
// device, which are what a storm of metadata is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace belay::iotrace::preload {

struct FileFacts {
    mode_t mode = 0;      // only its type
    uint64_t device = 0;  // packed, as in layout.h
};
// Without asking servers (AT_STATX_DONT_SYNC) or mounting anything. Of the descriptor itself if `path` is
// empty.
bool ask_kernel(int directory, const char* path, FileFacts& facts);

// The index of the device; kNoDevice if it is not to be found out. `path` was read by the kernel without
// EFAULT.
unsigned device_of_path(int directory, const char* path);

// Before this process looks for relative names elsewhere.
void forget_working_directory();

}  // namespace belay::iotrace::preload

// Reading directories. Each entry is a call, but only one call in hundreds asks the kernel; so entries are
// counted beside the descriptor, and added up when the directory has been read or is closed.
#include "iotrace/preload/counting.h"
#include "iotrace/preload/next.h"

#include <dirent.h>
#include <fcntl.h>

namespace belay::iotrace::preload {

namespace {

BELAY_NEXT Next<DIR* (*)(const char*)> next_opendir("opendir");
BELAY_NEXT Next<DIR* (*)(int)> next_fdopendir("fdopendir");
BELAY_NEXT Next<dirent* (*)(DIR*)> next_readdir("readdir64");
BELAY_NEXT Next<int (*)(DIR*)> next_closedir("closedir");
BELAY_NEXT Next<int (*)(DIR*)> next_dirfd("dirfd");

constexpr uint64_t kMostEntries = uint64_t{1} << 32;

void add_entries(int fd) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr || !entry->load().is_file()) return;
    const uint64_t count = entry->position.exchange(0, std::memory_order_relaxed);
    // An lseek(2) of it leaves a mark of the kernel, which is not a number.
    if (count != 0 && count <= kMostEntries) cell_of(entry->load().device()).add(kDirectoryEntries, count);
}

void count_entry(int fd) {
    Descriptor* entry = descriptor(fd);
    if (entry == nullptr || !looked_up(fd).is_file()) return;
    entry->position.store(entry->position.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

DIR* traced_opendir(const char* path) INSTEAD_OF("opendir");
DIR* traced_opendir(const char* path) {
    const auto next = next_opendir.get();
    const auto number_of = next_dirfd.get();
    if (next == nullptr || number_of == nullptr) return static_cast<void>(not_there()), nullptr;
    const Stopwatch watch;
    DIR* directory = next(path);
    count_open(watch, AT_FDCWD, path, directory != nullptr ? number_of(directory) : -1, true);
    return directory;
}

DIR* traced_fdopendir(int fd) INSTEAD_OF("fdopendir");
DIR* traced_fdopendir(int fd) {
    const auto next = next_fdopendir.get();
    if (next == nullptr) return static_cast<void>(not_there()), nullptr;
    DIR* directory = next(fd);
    if (directory == nullptr || !is_traced()) return directory;
    looked_up(fd);
    if (Descriptor* entry = descriptor(fd)) entry->position.store(0, std::memory_order_relaxed);
    return directory;
}

dirent* traced_readdir(DIR* directory) INSTEAD_OF("readdir64");
dirent* traced_readdir(DIR* directory) {
    const auto next = next_readdir.get();
    const auto number_of = next_dirfd.get();
    if (next == nullptr) return static_cast<void>(not_there()), nullptr;
    const Stopwatch watch;
    dirent* found = next(directory);
    if (!is_traced() || number_of == nullptr) return found;
    const int fd = number_of(directory);
    if (found != nullptr)
        count_entry(fd);
    else
        add_entries(fd);
    if (watch.is_running()) watch.stop(cell_of(looked_up(fd).device()), kMetadataNanoseconds);
    return found;
}
dirent* traced_readdir_plain(DIR* directory) ALSO_INSTEAD_OF("readdir", "readdir64");

int traced_closedir(DIR* directory) INSTEAD_OF("closedir");
int traced_closedir(DIR* directory) {
    const auto next = next_closedir.get();
    const auto number_of = next_dirfd.get();
    if (next == nullptr) return not_there();
    const Stopwatch watch;
    if (!is_traced() || number_of == nullptr || directory == nullptr) return next(directory);
    const int fd = number_of(directory);
    add_entries(fd);
    const DescriptorState before = forget(fd);
    const int result = next(directory);
    count_close(watch, before);
    return result;
}

}  // extern "C"

}  // namespace belay::iotrace::preload

#include "gpu/library_file.h"

#include <cerrno>
#include <dlfcn.h>
#include <unistd.h>

namespace belay::gpu {

namespace {

using core::Cause;

Cause cause_of_file(const std::string& path) {
    return access(path.c_str(), R_OK) == 0 ? Cause::kOther : core::cause_of_errno(errno);
}

// dlinfo(3)
std::vector<std::string> search_directories() {
    std::vector<std::string> directories;
    void* program = dlopen(nullptr, RTLD_LAZY);
    if (program == nullptr) return directories;
    Dl_serinfo head{};
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &head) == 0) {
        // The list stands behind its head.
        std::vector<Dl_serinfo> space(head.dls_size / sizeof(Dl_serinfo) + 1);
        Dl_serinfo* list = space.data();
        list->dls_size = head.dls_size;
        list->dls_cnt = head.dls_cnt;
        if (dlinfo(program, RTLD_DI_SERINFO, list) == 0) {
            const Dl_serpath* paths = list->dls_serpath;
            for (unsigned i = 0; i < list->dls_cnt; ++i) directories.emplace_back(paths[i].dls_name);
        }
    }
    dlclose(program);
    return directories;
}

}  // namespace

Cause cause_of_failed_load(const std::string& file) {
    if (file.find('/') != std::string::npos) return cause_of_file(file);
    return cause_of_failed_load(file, search_directories());
}

Cause cause_of_failed_load(const std::string& file, const std::vector<std::string>& directories) {
    for (const std::string& directory : directories) {
        if (access(directory.c_str(), X_OK) != 0 && errno == EACCES) continue;
        if (Cause cause = cause_of_file(directory + "/" + file); cause != Cause::kNotFound) return cause;
    }
    return Cause::kNotFound;
}

}  // namespace belay::gpu

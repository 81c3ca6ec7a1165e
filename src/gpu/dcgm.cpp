#include "gpu/dcgm.h"

#include "core/text.h"
#include "gpu/library_file.h"

#include <dlfcn.h>
#include <vector>

namespace belay::gpu::dcgm {

namespace {

constexpr unsigned kConnectMilliseconds = 2000;

template <typename Function>
bool find(void* library, Function& target, const char* name) {
    target = reinterpret_cast<Function>(dlsym(library, name));
    return target != nullptr;
}

constexpr std::string_view kHint = "the setting dcgm.library names the library, of DCGM 3 or 4";

}  // namespace

core::Result<std::unique_ptr<Library>> Library::connect(std::span<const std::string> files,
                                                        const std::string& address) {
    std::unique_ptr<Library> dcgm(new Library);
    std::vector<std::string> reasons;  // each begins with the name of the file
    std::string file;
    core::Cause cause = core::Cause::kNotFound;
    for (const std::string& name : files) {
        file = name;
        dcgm->library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (dcgm->library_ != nullptr) break;
        reasons.emplace_back(dlerror());
        if (cause == core::Cause::kNotFound) cause = cause_of_failed_load(name);
    }
    if (dcgm->library_ == nullptr)
        return core::system_error("DCGM {}: {}",
                                  cause == core::Cause::kNotFound ? "is not there" : "cannot be loaded",
                                  core::join(reasons, "; "))
            .because(cause)
            .hint(kHint);
    void* library = dcgm->library_;
    bool complete = find(library, dcgm->init, "dcgmInit") && find(library, dcgm->shutdown, "dcgmShutdown") &&
                    find(library, dcgm->connect_v2, "dcgmConnect_v2") &&
                    find(library, dcgm->disconnect, "dcgmDisconnect") &&
                    find(library, dcgm->devices, "dcgmGetAllSupportedDevices") &&
                    find(library, dcgm->field_group_create, "dcgmFieldGroupCreate") &&
                    find(library, dcgm->watch_fields, "dcgmWatchFields") &&
                    find(library, dcgm->update_all_fields, "dcgmUpdateAllFields") &&
                    find(library, dcgm->latest_values, "dcgmGetLatestValuesForFields");
    if (!complete) return core::system_error("{} is not a supported DCGM", file).hint(kHint);
    if (Return status = dcgm->init(); status != kOk)
        return core::system_error("DCGM does not start: status {}", static_cast<int>(status));
    dcgm->started_ = true;
    ConnectParameters parameters{.version = kConnectVersion,
                                 .persist_after_disconnect = 0,
                                 .timeout_milliseconds = kConnectMilliseconds,
                                 .address_is_unix_socket = address.starts_with('/') ? 1U : 0U};
    if (Return status = dcgm->connect_v2(address.c_str(), &parameters, &dcgm->handle); status != kOk)
        return core::system_error("no host engine of DCGM answers at {}: status {}", address,
                                  static_cast<int>(status))
            .because(core::Cause::kUnreachable)
            .hint("nv-hostengine is started by the site; Belay starts none");
    dcgm->connected_ = true;
    return dcgm;
}

Library::~Library() {
    if (connected_) disconnect(handle);
    if (started_) shutdown();
    if (library_ != nullptr) dlclose(library_);
}

}  // namespace belay::gpu::dcgm

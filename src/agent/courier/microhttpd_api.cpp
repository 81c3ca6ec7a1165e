#include "agent/courier/microhttpd_api.h"

#include <dlfcn.h>
#include <mutex>

namespace belay::agent {

namespace {

constexpr const char* kMicrohttpd = "libmicrohttpd.so.12";
constexpr const char* kMicrohttpdHint = "install libmicrohttpd (Debian: libmicrohttpd12)";

core::Result<MicrohttpdApi> load_microhttpd() {
    void* library = dlopen(kMicrohttpd, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return core::system_error("cannot load libmicrohttpd: {}", dlerror()).hint(kMicrohttpdHint);
    MicrohttpdApi api{};
#define BELAY_MICROHTTPD_LOAD(name)                                                               \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "MHD_" #name));                \
    if (api.name == nullptr)                                                                      \
        return core::system_error("{} has no function MHD_" #name ": it is too old", kMicrohttpd) \
            .hint(kMicrohttpdHint);
    BELAY_MICROHTTPD_FUNCTIONS(BELAY_MICROHTTPD_LOAD)
#undef BELAY_MICROHTTPD_LOAD
    return api;
}

}  // namespace

core::Result<const MicrohttpdApi*> microhttpd_api() {
    static std::once_flag once;
    static core::Result<MicrohttpdApi> api = core::system_error("libmicrohttpd is not loaded");
    std::call_once(once, [] { api = load_microhttpd(); });
    if (!api) return std::unexpected(api.error());
    return &*api;
}

}  // namespace belay::agent

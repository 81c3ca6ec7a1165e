#include "core/fetch/curl_api.h"

#include <dlfcn.h>
#include <mutex>

namespace belay::core::fetch {

namespace {

constexpr const char* kLibrary = "libcurl.so.4";
constexpr const char* kHint = "install libcurl 7.85 or newer (Debian: libcurl4)";

Result<CurlApi> load() {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return system_error("cannot load libcurl: {}", dlerror()).hint(kHint);
    CurlApi api{};
#define BELAY_CURL_LOAD(name)                                                       \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "curl_" #name)); \
    if (api.name == nullptr)                                                        \
        return system_error("{} has no function curl_" #name ": it is too old", kLibrary).hint(kHint);
    BELAY_CURL_FUNCTIONS(BELAY_CURL_LOAD)
#undef BELAY_CURL_LOAD
    if (const CURLcode code = api.global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
        return system_error("libcurl cannot be started: {}", api.easy_strerror(code));
    return api;
}

}  // namespace

Result<const CurlApi*> curl_api() {
    static std::once_flag once;
    static Result<CurlApi> api = system_error("libcurl is not loaded");
    std::call_once(once, [] { api = load(); });
    if (!api) return std::unexpected(api.error());
    return &*api;
}

}  // namespace belay::core::fetch

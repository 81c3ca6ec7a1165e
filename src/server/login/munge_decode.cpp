#include "server/login/munge_decode.h"

#include "core/user.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <munge.h>
#include <mutex>
#include <optional>
#include <pwd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;
using core::system_error;

namespace {

constexpr const char* kMungeLibrary = "libmunge.so.2";

// The functions we use, each once: the table from which the struct and the loader are made.
#define BELAY_MUNGE_DECODERS(X) X(decode) X(strerror) X(ctx_create) X(ctx_get) X(ctx_set) X(ctx_destroy)

struct MungeApi {
#define BELAY_MUNGE_MEMBER(name) decltype(&::munge_##name) name;
    BELAY_MUNGE_DECODERS(BELAY_MUNGE_MEMBER)
#undef BELAY_MUNGE_MEMBER
};

Result<MungeApi> load_munge() {
    void* library = dlopen(kMungeLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return system_error("cannot load the library of munge: {}", dlerror())
            .because(core::Cause::kNotFound);
    MungeApi api{};
#define BELAY_MUNGE_LOAD(name)                                                       \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "munge_" #name)); \
    if (api.name == nullptr) return system_error("{} has no function munge_" #name, kMungeLibrary);
    BELAY_MUNGE_DECODERS(BELAY_MUNGE_LOAD)
#undef BELAY_MUNGE_LOAD
    return api;
}

Result<const MungeApi*> munge_api() {
    static std::mutex mutex;
    static std::optional<MungeApi> loaded;
    const std::lock_guard lock(mutex);
    if (!loaded) {
        BELAY_TRY(api, load_munge());
        loaded = api;
    }
    return &*loaded;
}

// What the one who sent it may have done; else the daemon is at fault. A credential that munge has seen before comes twice.
bool is_refusal(munge_err_t error) {
    switch (error) {
        case EMUNGE_BAD_CRED:
        case EMUNGE_BAD_VERSION:
        case EMUNGE_BAD_CIPHER:
        case EMUNGE_BAD_MAC:
        case EMUNGE_BAD_ZIP:
        case EMUNGE_BAD_REALM:
        case EMUNGE_BAD_LENGTH:
        case EMUNGE_CRED_INVALID:
        case EMUNGE_CRED_EXPIRED:
        case EMUNGE_CRED_REWOUND:
        case EMUNGE_CRED_REPLAYED:
        case EMUNGE_CRED_UNAUTHORIZED:
            return true;
        default:
            return false;
    }
}

Result<> check_munge(const MungeApi& api, munge_err_t error) {
    if (error == EMUNGE_SUCCESS) return {};
    return system_error("munge: {}", api.strerror(error))
        .because(is_refusal(error) ? core::Cause::kDenied : core::Cause::kOther);
}

Result<OpenedCredential> open_credential(const std::string& credential, const std::string& socket) {
    BELAY_TRY(api, munge_api());
    const std::unique_ptr<munge_ctx, decltype(api->ctx_destroy)> context(api->ctx_create(), api->ctx_destroy);
    if (!context) return system_error("not enough memory for a session with munge");
    if (!socket.empty())
        BELAY_CHECK(check_munge(*api, api->ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str())));
    char* path = nullptr;
    BELAY_CHECK(check_munge(*api, api->ctx_get(context.get(), MUNGE_OPT_SOCKET, &path)));
    if (access(path, F_OK) != 0) return core::errno_error(errno, fmt::format("munge: no socket {}", path));
    void* bytes = nullptr;
    int size = 0;
    uid_t uid = 0;
    const auto opened = api->decode(credential.c_str(), context.get(), &bytes, &size, &uid, nullptr);
    const std::unique_ptr<void, decltype(&free)> owner(bytes, &free);
    BELAY_CHECK(check_munge(*api, opened));
    return OpenedCredential{
        .payload = size > 0 ? std::string(static_cast<const char*>(bytes), static_cast<size_t>(size))
                            : std::string(),
        .uid = uid};
}

}  // namespace

DecodeMunge decode_by_munge(std::string socket) {
    return [socket = std::move(socket)](const std::string& credential,
                                        const core::Deadline& deadline) -> Result<OpenedCredential> {
        if (deadline.is_over())
            return system_error("munge was not asked: it is too late").because(core::Cause::kTimedOut);
        return open_credential(credential, socket);
    };
}

Result<std::string> name_of_user(uid_t uid) {
    passwd entry{};
    passwd* found = nullptr;
    std::string name;
    const int failed = core::ask_with_room([&](char* buffer, size_t bytes) {
        const int answer = getpwuid_r(uid, &entry, buffer, bytes, &found);
        if (answer == 0 && found != nullptr) name = found->pw_name;
        return answer;
    });
    if (failed != 0) return core::errno_error(failed, fmt::format("cannot look up the user {}", uid));
    if (name.empty()) return system_error("user {} is unknown", uid).because(core::Cause::kNotFound);
    return name;
}

}  // namespace belay::server

#include "slurm/munge.h"

#include "core/work.h"
#include "slurm/auth_info.h"

#include <cerrno>
#include <dlfcn.h>
#include <memory>
#include <munge.h>
#include <unistd.h>

namespace belay::slurm {

namespace {

using core::Result;
using core::system_error;

constexpr const char* kLibrary = "libmunge.so.2";
constexpr int kSecondsToLive = 3600;  // a node may be slow to start, or vet itself for long before it comes

// The functions we use, each once: the table from which the struct and the loader are made.
#define BELAY_MUNGE_FUNCTIONS(X) \
    X(encode) X(decode) X(strerror) X(ctx_create) X(ctx_get) X(ctx_set) X(ctx_destroy)

struct Api {
#define BELAY_MUNGE_MEMBER(name) decltype(&::munge_##name) name;
    BELAY_MUNGE_FUNCTIONS(BELAY_MUNGE_MEMBER)
#undef BELAY_MUNGE_MEMBER
};

Result<Api> load() {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return system_error("cannot load the library of munge: {}", dlerror())
            .because(core::Cause::kNotFound);
    Api api{};
#define BELAY_MUNGE_LOAD(name)                                                       \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "munge_" #name)); \
    if (api.name == nullptr) return system_error("{} has no function munge_" #name, kLibrary);
    BELAY_MUNGE_FUNCTIONS(BELAY_MUNGE_LOAD)
#undef BELAY_MUNGE_LOAD
    return api;
}

// A daemon that is there and fails is not a node without munge.
core::Cause cause_of(munge_err_t error) {
    switch (error) {
        case EMUNGE_BAD_CRED:
        case EMUNGE_BAD_VERSION:
        case EMUNGE_CRED_INVALID:
        case EMUNGE_CRED_EXPIRED:
        case EMUNGE_CRED_REWOUND:
        case EMUNGE_CRED_UNAUTHORIZED:
            return core::Cause::kDenied;
        default:
            return core::Cause::kOther;
    }
}

// One exchange with the daemon.
class Session {
  public:
    static Result<Session> open(const std::string& given) {
        const std::string socket = given.empty() ? munge_socket_of_slurm() : given;
        BELAY_TRY(api, load());
        Session session(api);
        if (session.context_ == nullptr) return system_error("no memory for a session with munge");
        if (!socket.empty())
            BELAY_CHECK(session.check(api.ctx_set(session.context_.get(), MUNGE_OPT_SOCKET, socket.c_str())));
        char* path = nullptr;
        BELAY_CHECK(session.check(api.ctx_get(session.context_.get(), MUNGE_OPT_SOCKET, &path)));
        if (access(path, F_OK) != 0)
            return core::errno_error(errno, fmt::format("munge: no socket {}", path));
        return session;
    }

    Result<std::string> encode(std::string_view text) {
        munge_ctx_t context = context_.get();
        BELAY_CHECK(check(api_.ctx_set(context, MUNGE_OPT_CIPHER_TYPE, int{MUNGE_CIPHER_AES128})));
        BELAY_CHECK(check(api_.ctx_set(context, MUNGE_OPT_TTL, kSecondsToLive)));
        BELAY_CHECK(check(api_.ctx_set(context, MUNGE_OPT_UID_RESTRICTION, geteuid())));
        char* credential = nullptr;
        auto made = api_.encode(&credential, context, text.data(), static_cast<int>(text.size()));
        std::unique_ptr<char, decltype(&free)> owner(credential, &free);
        BELAY_CHECK(check(made));
        return std::string(credential);
    }

    Result<std::string> decode(const std::string& credential) {
        void* bytes = nullptr;
        int size = 0;
        uid_t uid = 0;
        auto read = api_.decode(credential.c_str(), context_.get(), &bytes, &size, &uid, nullptr);
        std::unique_ptr<void, decltype(&free)> owner(bytes, &free);
        // Several nodes may run on one machine, each of which reads the same credential.
        if (read != EMUNGE_CRED_REPLAYED) BELAY_CHECK(check(read));
        if (uid != geteuid())
            return system_error("the credential belongs to the user with the id {}", uid)
                .because(core::Cause::kDenied);
        return std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
    }

  private:
    explicit Session(const Api& api) : api_(api), context_(api.ctx_create(), api.ctx_destroy) {}

    Result<> check(munge_err_t error) const {
        if (error == EMUNGE_SUCCESS) return {};
        return system_error("munge: {}", api_.strerror(error)).because(cause_of(error));
    }

    Api api_;
    std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)> context_;
};

// Its library waits for seconds for a daemon that does not answer.
Result<std::string> in_time(const core::Deadline& deadline, const core::Work::Function& exchange) {
    BELAY_TRY(work, core::Work::start({.what = "asking munge"}, exchange));
    return work.finish(deadline);
}

}  // namespace

Credentials munge_at(std::string socket) {
    auto encode = [socket](std::string_view text, const core::Deadline& deadline) {
        return in_time(deadline, [&]() -> Result<std::string> {
            BELAY_TRY(session, Session::open(socket));
            return session.encode(text);
        });
    };
    auto decode = [socket](std::string_view credential, const core::Deadline& deadline) {
        return in_time(deadline, [&]() -> Result<std::string> {
            BELAY_TRY(session, Session::open(socket));
            return session.decode(std::string(credential));
        });
    };
    return {encode, decode};
}

}  // namespace belay::slurm

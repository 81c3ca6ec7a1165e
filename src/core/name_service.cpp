#include "core/name_service.h"

#include "core/work.h"

#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

namespace belay::core {

Error name_service_error(int status, int errno_value, const std::string& name) {
    switch (status) {
        case EAI_NONAME:
#ifdef EAI_NODATA
        case EAI_NODATA:
#endif
#ifdef EAI_ADDRFAMILY
        case EAI_ADDRFAMILY:
#endif
            return system_error("the name service does not know {}", name).because(Cause::kNotFound).error();
        case EAI_SYSTEM:
            return errno_error(errno_value, fmt::format("the name service cannot be asked for {}", name))
                .error();
        case EAI_AGAIN:
        case EAI_FAIL:
            return system_error("the name service cannot tell the address of {}: {}", name,
                                gai_strerror(status))
                .because(Cause::kUnreachable)
                .hint("does a server of /etc/resolv.conf answer?")
                .error();
        default:
            return system_error("the name service cannot be asked for {}: {}", name, gai_strerror(status))
                .error();
    }
}

Result<std::string> ask_name_service(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (int status = getaddrinfo(name.c_str(), nullptr, &hints, &found); status != 0)
        return std::unexpected(name_service_error(status, errno, name));
    std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    std::array<char, NI_MAXHOST> text{};
    if (int status = getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                                 NI_NUMERICHOST);
        status != 0)
        return std::unexpected(name_service_error(status, errno, name));
    return std::string(text.data());
}

Result<std::string> address_of_name(const std::string& name, const Deadline& deadline,
                                    const NameService& service) {
    BELAY_TRY(work,
              Work::start({.what = "the name service, asked for " + name}, [&] { return service(name); }));
    return work.finish(deadline);
}

}  // namespace belay::core

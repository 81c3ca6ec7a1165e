#include "core/name_service.h"

#include "core/work.h"

#include <array>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>

namespace belay::core {

std::optional<std::string> ask_name_service(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
    std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return std::nullopt;
    return std::string(text.data());
}

Result<std::string> address_of_name(const std::string& name, const Deadline& deadline,
                                    const NameService& service) {
    BELAY_TRY(work, Work::start({.what = "the name service"}, [&]() -> Result<std::string> {
                  if (auto address = service(name)) return *address;
                  return system_error("the name service does not know {}", name).because(Cause::kNotFound);
              }));
    auto address = work.finish(deadline);
    if (!address && address.error().cause() == Cause::kTimedOut)
        return system_error("the name service did not answer when asked for {}", name)
            .because(Cause::kTimedOut);
    return address;
}

}  // namespace belay::core

// The addresses of the hosts that a place names, so that libpq does not ask the name service: it would wait as long as that
// takes.
#pragma once

#include "core/deadline.h"
#include "core/error.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belay::database {

// All addresses of a name, numeric. May take as long as it likes.
using HostService = std::function<core::Result<std::vector<std::string>>(const std::string& name)>;

// The system's.
core::Result<std::vector<std::string>> addresses_of_host(const std::string& name);

// Asks in a thread, of which there is one at a time: one that gets no answer is not joined by others. Thread-safe.
class HostLookup {
  public:
    explicit HostLookup(HostService service = addresses_of_host) : state_(std::make_shared<State>()) {
        state_->service = std::move(service);
    }
    // Errors: those of the service; kSystem, kUnreachable where none has answered until the deadline.
    core::Result<std::vector<std::string>> addresses(const std::string& name, const core::Deadline& deadline);

  private:
    struct State {
        HostService service;
        std::mutex mutex;
        std::condition_variable changed;
        std::string asked;  // now; empty: nobody is asked
        std::map<std::string, core::Result<std::vector<std::string>>> answers;
    };
    static void ask(const std::shared_ptr<State>& state, const std::string& name);

    std::shared_ptr<State> state_;
};

// libpq's settings with a "hostaddr" for every "host" that is a name, one entry per address. Those with "hostaddr", without
// a host and with sockets stay as they are. Errors: as HostLookup::addresses; kBadInput where hosts and ports do not go
// together.
using PostgresSettings = std::map<std::string, std::string>;
core::Result<PostgresSettings> with_addresses(
    PostgresSettings settings,
    const std::function<core::Result<std::vector<std::string>>(const std::string& name)>& addresses);

}  // namespace belay::database

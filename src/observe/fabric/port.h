// A port of the fast network: its directory in /sys, and what is sampled of it.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "observe/collect/collector.h"
#include "stream/batch.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::observe::fabric {

struct PortPlace {
    std::string device;
    int64_t number = 1;
    std::filesystem::path directory;
    bool operator==(const PortPlace&) const = default;
};

// Of one kind; more are left out. A switch in software can make a port of each virtual function.
inline constexpr size_t kMostPorts = 256;

class Port {
  public:
    Port(PortPlace place, core::Descriptor directory)
        : place_(std::move(place)), directory_(std::move(directory)) {}
    virtual ~Port() = default;
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    const PortPlace& place() const { return place_; }
    // Whether the place still leads to this port's directory, and not to that of a device that came after it.
    bool is_still_there() const;

    // Now and then: what seldom changes, and what is new.
    virtual void look() = 0;
    // Every tick. False where the device is gone.
    virtual bool read() = 0;
    virtual void add_row(const collect::Sample& sample, stream::Batch& rows) const = 0;
    // Whether a file may not be read that is there.
    virtual bool is_denied() const = 0;

  protected:
    int directory() const { return directory_.get(); }
    // Adds the row with the columns that every port has.
    void begin_row(const collect::Sample& sample, std::string_view kind, stream::Batch& rows) const;

  private:
    PortPlace place_;
    core::Descriptor directory_;
};

// The directory of a port, for what is beneath it; closed where it is gone.
core::Descriptor open_port(const PortPlace& place);

// All names in a directory, sorted; none where it does not exist. Errors: kSystem.
core::Result<std::vector<std::string>> names_in(const std::filesystem::path& directory);

}  // namespace belay::observe::fabric

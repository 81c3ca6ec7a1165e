// DCGM's functions, each loaded by name, and a connection to a host engine that runs already.
#pragma once

#include "core/error.h"
#include "gpu/dcgm_abi.h"

#include <memory>
#include <span>
#include <string>

namespace belay::gpu::dcgm {

struct Library {
    // The first of the files that is there. Errors: kSystem if none is, or no host engine answers at the
    // address.
    static core::Result<std::unique_ptr<Library>> connect(std::span<const std::string> files,
                                                          const std::string& address);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    Return (*init)() = nullptr;
    Return (*shutdown)() = nullptr;
    Return (*connect_v2)(const char*, ConnectParameters*, Handle*) = nullptr;
    Return (*disconnect)(Handle) = nullptr;
    Return (*devices)(Handle, unsigned*, int*) = nullptr;
    Return (*field_group_create)(Handle, int, unsigned short*, const char*, FieldGroup*) = nullptr;
    Return (*watch_fields)(Handle, Group, FieldGroup, long long, double, int) = nullptr;
    Return (*update_all_fields)(Handle, int) = nullptr;
    Return (*latest_values)(Handle, int, unsigned short*, unsigned, FieldValue*) = nullptr;

    Handle handle = 0;

  private:
    Library() = default;
    void* library_ = nullptr;
    bool started_ = false;
    bool connected_ = false;
};

}  // namespace belay::gpu::dcgm

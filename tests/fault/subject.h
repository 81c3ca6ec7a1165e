// What a call of another process is about, found from outside: its memory and /proc.
#pragma once

#include "call.h"

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::fault {

struct Subject {
    const char* errors = nullptr;  // of the call's row; nullptr: the call does not count
    std::string name;              // a path, or what kind of thing it is
};

struct Scope {
    std::vector<std::filesystem::path> roots;  // only files at or beneath these count
    bool files = true;
    bool processes = true;  // with pipes
    bool sockets = true;
};

Subject subject_of(const Scope& scope, pid_t process, const Call& call, const Arguments& arguments);

// The name of the program that the process runs, as ps shows it.
std::string name_of(pid_t process);

// Some of the memory of a process; shorter where it cannot be read.
std::string memory_of(pid_t process, uint64_t address, size_t length);

}  // namespace belay::fault

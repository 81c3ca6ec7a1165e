// The system calls that may fail, and how: one row each. The next call is one more row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::fault {

// What a call is about, as its arguments name it.
enum class About {
    kNothing,     // it makes something: a descriptor, a process
    kPath,        // args[path], taken from the directory args[directory]
    kTwoPaths,    // the other one in the next two arguments: renameat, linkat
    kDescriptor,  // args[path]
};

struct Call {
    int number;
    const char* name;
    About about;
    int path = 0;
    int directory = -1;  // -1: from the working directory
    // What it may answer, where files, pipes (with all that makes processes) and sockets are concerned;
    // nullptr: it does not count. SHORT: only half of the bytes are read or written.
    const char* files = nullptr;
    const char* processes = nullptr;
    const char* sockets = nullptr;
};

using Arguments = uint64_t[6];

const std::vector<Call>& calls();
const Call* call_of(int number);

// The arguments of clone3 begin with its flags, not with their address, as those of clone do.
// Whether it is one of those that only look like it: a thread is no process, most of fcntl(2) cannot fail.
bool is_harmless(const Call& call, const Arguments& arguments);

// The names of a list of errors; creating calls may find a full disk.
std::vector<std::string> errors_of(const Call& call, const Arguments& arguments, const char* list);

// 0 if there is no such error.
int errno_of(std::string_view name);

}  // namespace belay::fault

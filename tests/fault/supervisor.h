// Runs a command whose system calls pass by us: counts those that concern the work, and answers the n-th with
// an error instead of carrying it out. By seccomp's user notification: it sees every call that the kernel
// gets, of every process that comes of the command, whatever library or language made it, and needs no
// ptrace.
#pragma once

#include "core/error.h"
#include "subject.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace belay::fault {

struct Plan {
    std::vector<std::string> command;
    Scope scope;
    std::string process;              // only calls of programs of this name; empty: of all
    std::vector<std::string> except;  // nor those of these
    int at = 0;                       // the call that fails, counted from 1; 0: none
    std::string error;                // the name of an errno, SHORT, or KILL: the process ends there
    bool lasting = false;             // and so does every later call that can answer this error
    std::chrono::seconds limit{60};   // for all of it; then everything is killed
    std::chrono::seconds grace{5};    // for processes that end in their own time after the command
    FILE* trace = nullptr;            // a line for each call that counts
};

struct Outcome {
    int status = 0;   // of the command, as a shell tells it
    int counted = 0;  // calls
    bool injected = false;
    bool timed_out = false;
    std::vector<std::string> left;  // processes that outlived the command, and were killed
};

// Errors: kSystem.
core::Result<Outcome> supervise(const Plan& plan);

}  // namespace belay::fault

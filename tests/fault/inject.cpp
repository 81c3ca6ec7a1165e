// inject: runs a command in which one system call fails.
#include "supervisor.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <getopt.h>
#include <unistd.h>

#include <fmt/ranges.h>

namespace belay::fault {
namespace {

constexpr const char* kUsage =
    "usage: inject [OPTION...] -- COMMAND...\n"
    "Runs COMMAND; its N-th call that counts answers an error instead of being carried out. Calls are "
    "counted from the\n"
    "start of COMMAND on, over all processes that come of it. Ends with the status of COMMAND.\n"
    "  --at N            the call that fails; without it, calls are only counted\n"
    "  --error NAME      EIO, ENOSPC, ...; SHORT: half of the bytes; KILL: the process ends there (default "
    "EIO)\n"
    "  --lasting         so does every later call that can answer this error\n"
    "  --root DIRECTORY  count calls about files at or beneath it; may be repeated\n"
    "  --only CLASSES    of files,processes,sockets (default all)\n"
    "  --process NAME    count calls of programs of this name only\n"
    "  --except NAME     nor of programs of this name; may be repeated\n"
    "  --trace FILE      a line for each call: N, CALL, SUBJECT, PROGRAM, what it could answer, what it did "
    "answer (by tabs);\n"
    "                    then \"end\" with the number of calls, whether one failed, the status, and "
    "processes left behind\n"
    "  --limit SECONDS   then all of it is killed, status 124 (default 60)\n"
    "  --grace SECONDS   for processes that outlive the command (default 5); then they are killed\n"
    "Exit status 2: wrong usage, 3: the kernel does not let us.\n";

bool choose(Scope& scope, const std::string& classes) {
    scope.files = classes.find("files") != std::string::npos;
    scope.processes = classes.find("processes") != std::string::npos;
    scope.sockets = classes.find("sockets") != std::string::npos;
    return scope.files || scope.processes || scope.sockets;
}

bool add_root(Scope& scope, const char* directory) {
    std::error_code error;
    scope.roots.push_back(std::filesystem::canonical(directory, error));
    return !error;
}

bool seconds(std::chrono::seconds& target, const char* text) {
    target = std::chrono::seconds(std::atoi(text));
    return true;
}

bool is_error(const std::string& name) {
    return name == "SHORT" || name == "KILL" || errno_of(name) != 0;
}

struct Flag {
    const char* name;
    int argument;  // of getopt_long
    bool (*set)(Plan&, const char* value);
};

constexpr Flag kFlags[] = {
    {"at", required_argument, [](Plan& plan, const char* value) { return (plan.at = std::atoi(value)) > 0; }},
    {"error", required_argument, [](Plan& plan, const char* value) { return is_error(plan.error = value); }},
    {"lasting", no_argument, [](Plan& plan, const char*) { return plan.lasting = true; }},
    {"root", required_argument, [](Plan& plan, const char* value) { return add_root(plan.scope, value); }},
    {"only", required_argument, [](Plan& plan, const char* value) { return choose(plan.scope, value); }},
    {"process", required_argument,
     [](Plan& plan, const char* value) { return !(plan.process = value).empty(); }},
    {"except", required_argument,
     [](Plan& plan, const char* value) { return !plan.except.emplace_back(value).empty(); }},
    {"trace", required_argument,
     [](Plan& plan, const char* value) { return (plan.trace = fopen(value, "we")) != nullptr; }},
    {"limit", required_argument, [](Plan& plan, const char* value) { return seconds(plan.limit, value); }},
    {"grace", required_argument, [](Plan& plan, const char* value) { return seconds(plan.grace, value); }},
};

// False where the command line is wrong.
bool read_options(int argc, char** argv, Plan& plan) {
    std::vector<option> options;
    for (const Flag& flag : kFlags) options.push_back({flag.name, flag.argument, nullptr, 0});
    options.push_back({});
    bool good = true;
    int which = 0;
    for (int one; (one = getopt_long(argc, argv, "+", options.data(), &which)) != -1;)
        good = good && one == 0 && kFlags[which].set(plan, optarg);
    plan.command.assign(argv + optind, argv + argc);
    return good && !plan.command.empty();
}

int main_of(int argc, char** argv) {
    Plan plan;
    if (!read_options(argc, argv, plan)) return fputs(kUsage, stderr), 2;
    core::Result<Outcome> outcome = supervise(plan);
    if (!outcome) {
        fputs(outcome.error().render("inject").c_str(), stderr);
        return outcome.error().exit_status();
    }
    const int status = outcome->timed_out ? 124 : outcome->status;
    if (plan.trace != nullptr)
        fmt::print(plan.trace, "end\t{}\t{}\t{}\t{}\n", outcome->counted, outcome->injected ? "failed" : "",
                   status, fmt::join(outcome->left, " "));
    return status;
}

}  // namespace
}  // namespace belay::fault

int main(int argc, char** argv) {
    return belay::fault::main_of(argc, argv);
}

// Which file another process waits for, as the kernel tells it (/proc/PID/task/TID/syscall): the call in
// which a thread is, with the path that it names. The server of that file is not asked for anything, so this
// answers also where that does not. Of own children and of what this process may trace; where the machine
// lets nobody do that, all that is known is that the kernel does not let go of it.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::core {

struct FileCall {
    std::string what;           // "open /scratch/x"
    bool carries_data = false;  // brings what was written to the disk: may rightly take minutes
    bool names_file = true;
};

// What a thread does in a call about a file; two that are equal are one call in which nothing has moved.
struct ThreadInFileCall {
    FileCall call;
    std::string evidence;  // the call's words, time on a processor, bytes read and written
};

// Nothing where it runs, waits for something else, or this may not be known.
std::optional<ThreadInFileCall> thread_in_file_call(pid_t process, pid_t thread);

std::vector<pid_t> threads_of(pid_t process);

// Of the first of its threads that is in one.
std::optional<FileCall> file_call_of(pid_t process);

}  // namespace belay::core

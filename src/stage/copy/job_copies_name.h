// Where it is noted what goes with a job: a file for each copy, in memory, so that a node that starts again
// has none. libc only, since Slurm's daemons look for them too (spank/plugin).
#pragma once

#include <cstdio>
#include <sys/types.h>

namespace belay::stage {

inline constexpr char kNotesDirectory[] = "/dev/shm";
inline constexpr char kNotesStart[] = "belay-staged-";

// How the names of a job's notes on a node begin. False where that is longer than `size`, or a name holds a
// "/".
inline bool write_notes_prefix(char* text, size_t size, uid_t user, const char* node, unsigned long job) {
    const int length =
        snprintf(text, size, "%s%lu-%s-%lu-", kNotesStart, static_cast<unsigned long>(user), node, job);
    if (length < 0 || static_cast<size_t>(length) >= size) return false;
    for (const char* at = text; *at != '\0'; ++at)
        if (*at == '/') return false;
    return true;
}

}  // namespace belay::stage

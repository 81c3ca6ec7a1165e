// The callbacks that Slurm calls (spank.h says when), and what they share.
#pragma once

#include <cstddef>

struct spank_handle;

namespace belay::spank {

int on_init(spank_handle* spank, int count, char** words);
int on_options(spank_handle* spank);
int on_user(spank_handle* spank);
int on_task(spank_handle* spank);
int on_forked(spank_handle* spank);
int on_task_end(spank_handle* spank);

// belay-step beside this plugin, as built or as installed. False if it is not there.
bool find_step_program(char* path, size_t size);

// What belay-step gets for variables: a copy, with another name for those that the loader would heed, and
// with the plan if there is one. Nothing if memory is short; never freed, since who needs it soon becomes
// belay-step or the task.
char** program_environment(char** variables, const char* plan);

// What the program prints, ended by NUL, at most `limit` bytes, to be freed; nothing if it failed, having
// said why itself, or with a message here.
char* output_of(const char* program, char** arguments, size_t limit);

// Of this node, as Slurm calls it.
const char* node_name();

}  // namespace belay::spank

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
int on_job_end(spank_handle* spank, int count, char** words);

// belay-step beside this plugin, as built or as installed. False if it is not there.
bool find_step_program(char* path, size_t size);

// What follows a reason why a step is not recorded.
inline constexpr char kNotRecorded[] = ": the step runs without being recorded";

// Of this node, as Slurm calls it.
const char* node_name();

}  // namespace belay::spank

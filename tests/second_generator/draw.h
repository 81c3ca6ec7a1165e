// Draws jobs in which nothing is wrong.
#pragma once

#include "job.h"
#include "random.h"

namespace belay::second_generator {

// What a fault needs of the job that it befalls.
struct Needs {
    bool gpus = false;
    bool no_gpus = false;
    bool ranks = false;   // several
    bool nodes = false;   // several
    bool loader = false;  // batches are read, by workers
    bool report = false;  // of its progress
    bool slurm = false;
    bool kernel_log = false;
    double seconds = 0;  // at least
    int least_gpus = 0;  // of a node
};

Job draw_job(int number, uint64_t seed, const Needs& needs, Random& random);
// What is harmless but looks like trouble: up to `most` of it.
void add_confounders(Job& job, Random& random, int most);
// GPUs to ranks, evenly.
void spread_gpus(Job& job);

}  // namespace belay::second_generator

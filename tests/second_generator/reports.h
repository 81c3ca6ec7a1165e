// What the program prints of its progress, as rows of the table `progress`; and events.
#pragma once

#include "columns.h"
#include "node.h"
#include "timeline.h"

namespace belay::second_generator {

// Of the lines that this rank prints.
void add_progress(Columns& rows, const Job& job, const Timeline& timeline, const Node& node, int rank);
// Of a rank: its start, its system, its end; and what it printed last if it failed.
void add_task_events(stream::Batch& events, Columns& tail, const Job& job, const Timeline& timeline,
                     const Node& node, int rank);
// Of the node: its kernel's log, its GPUs, its mounts; of node 0 how Slurm ended the job.
void add_node_events(stream::Batch& events, const Job& job, const Timeline& timeline, const Node& node,
                     int number);
// In the words of Slurm.
const char* name_of(End end);

}  // namespace belay::second_generator

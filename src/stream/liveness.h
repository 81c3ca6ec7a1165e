// Whether a recorder is still at work on a segment, as far as another process can tell.
#pragma once

#include "stream/segment.h"

#include <string>
#include <string_view>

namespace belay::stream {

// A recorder holds a lock on its segment. Many file systems that nodes share (Lustre with localflock, BeeGFS)
// keep locks on the node that took them, and some have none at all.
enum class SegmentLock {
    kHeld,     // somebody on this machine, or on any if the file system shares locks, writes to it
    kFree,     // nobody on this machine does
    kUnknown,  // the file system has no locks
};
SegmentLock segment_lock(int fd);

// Name of this machine as a recorder outside Slurm names its node: up to the first dot.
std::string this_node();

// A recorder with nothing to write touches its segment this often: well within the minute below, seldom
// enough for a file server with thousands of ranks.
inline constexpr core::Duration kShowsLifeEvery = std::chrono::seconds(20);

// How long a segment without an end may lie unchanged while its recorder is alive, where no lock tells: a
// flush and an interval, as its session says, and a minute for recorders that are starved, writes that linger
// in a cache and clocks that differ.
core::Duration longest_silence(const SegmentSummary& segment);

// `lock` must have been looked at before, and the file's age is looked at after the segment was read. Where
// the lock cannot speak for the segment's node, a segment without an end counts as being written until it has
// been silent for too long; so a recorder that was killed there is only then known to be gone.
bool is_being_written(int fd, SegmentLock lock, const SegmentSummary& segment,
                      std::string_view node = this_node());

}  // namespace belay::stream

// A collector in a process of its own, for sources whose reading may hang or crash: file clients whose server is gone,
// firmware behind sysfs, ioctls. It takes no more than that with it, and the other collectors go on.
//
//   auto lustre = collect_apart({.name = "belay-lustre", .make = [] { return make_lustre_collector({}); }}, kLustre);
//
// Not thread-safe; make it before any thread.
#pragma once

#include "core/time.h"
#include "observe/collect/collector.h"

#include <functional>
#include <memory>

namespace belay::observe::collect {

struct ApartOptions {
    const char* name = "belay-collector";  // of the process: at most 15 letters, kHelperName first
    // Called in the child, again in each that replaces one.
    std::function<std::unique_ptr<Collector>()> make;
    core::Duration deadline = std::chrono::milliseconds(250);  // until a tick goes on without an answer
    // Until a child that is silent is replaced, and after one that ended. One that SIGKILL does not end, since it waits in
    // the kernel, is not replaced before it has ended.
    core::Duration retry = std::chrono::seconds(60);
};

// Rows that come after the deadline stand in a later tick, with the time at which they were asked for. Errors of
// collect(): the collector's own; kSystem with kTimedOut while it does not answer, kEnded while its process is gone.
std::unique_ptr<Collector> collect_apart(ApartOptions options, const schema::Table& table);

}  // namespace belay::observe::collect

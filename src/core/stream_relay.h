// Carries on what a child writes to standard output and standard error where those are pipes or sockets. A
// child that outlives its SIGKILL would else hold them open, and whoever reads them (a shell's $(...), srun)
// would wait for their end. A terminal or a file is the child's as it is this process's.
//
//   BELAY_TRY(relay, StreamRelay::create());
//   child:   relay.take_over();
//   parent:  relay.release();  poll(relay.entries() ...);  relay.carry();
#pragma once

#include "core/file.h"

#include <poll.h>
#include <vector>

namespace belay::core {

class StreamRelay {
  public:
    // Errors: kSystem where no pipe can be made.
    static Result<StreamRelay> create();

    // Of the child, which must keep them.
    std::vector<int> descriptors() const;
    // In the child: its streams lead to the relay.
    void take_over();
    // In the parent, once there is a child.
    void release();
    // What can be read when there is something to carry.
    std::vector<pollfd> entries() const;
    // Carries what is there, and waits for the reader where that is slow. Where nobody reads any more, the
    // child is told so when it writes, as this process would have been.
    void carry();

  private:
    struct Lane {
        Descriptor reader, writer;
        std::vector<int> streams;  // 1, 2 or both: those that lead to one pipe keep their order
    };
    std::vector<Lane> lanes_;
};

}  // namespace belay::core

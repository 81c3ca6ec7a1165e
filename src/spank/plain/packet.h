// What travels between belay-step and the tasks of its node (wire.h). Functions return 0 or an errno value.
#pragma once

#include "spank/plain/wire.h"

#include <cstdint>

namespace belay::spank {

struct Packet {
    Verdict verdict = kRefuse;
    int count = 0;
    int descriptors[kMostDescriptors] = {-1, -1, -1, -1};
};

int send_packet(int link, const Packet& packet);

// Of the clock by which the two below give up.
int64_t monotonic_milliseconds();

// Waits for a packet and leaves it to the other tasks; its descriptors are the caller's. ETIMEDOUT; EPIPE if
// the other end was closed before; EMFILE if this process may not open so many files; EPROTO for a packet of
// another make.
int look_at_packet(int link, int64_t give_up, Packet& packet);

// Takes one byte out of a pipe that does not block. ETIMEDOUT; EPIPE if nobody is left to write one.
int take_byte(int pipe, int64_t give_up, char& byte);

}  // namespace belay::spank

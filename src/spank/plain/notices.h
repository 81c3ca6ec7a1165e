// What the container's holder tells slurmstepd (env/container/notice.h). Any process of the user can send
// there instead, whatever and as fast as it likes.
#pragma once

namespace belay::spank {

// Takes what has come and says each text of the holder's once in a step, as `told` remembers; anything else
// is dropped. So many packets at most at a time, that a sender cannot keep slurmstepd busy.
void take_notices(int socket, unsigned& told, void (*say)(const char* text));

}  // namespace belay::spank

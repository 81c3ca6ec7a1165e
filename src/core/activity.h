// What a process is doing right now, where another can read it: when work in a child does not end in time,
// its parent says what did not answer.
//
//   parent: BELAY_TRY(activity, Activity::create());  fork …  activity.text() → "open /scratch/image.sqfs"
//   child:  activity.watch_this_process();  …  note_activity("open", path);
//
// The functions of core/file.h note what they do by themselves; where nobody watches, that costs a
// comparison.
#pragma once

#include "core/error.h"

#include <memory>
#include <string>
#include <string_view>

namespace belay::core {

class Activity {
  public:
    // Errors: kSystem where there is no memory to share.
    static Result<Activity> create();
    // What was noted last, or "" if nothing was. What a process writes at the same time may come out mixed,
    // never torn beyond its end.
    std::string text() const;
    // From here on note_activity() of this process writes here.
    void watch_this_process() const;

  private:
    struct Shared;
    struct Unmap {
        void operator()(Shared* shared) const;
    };
    explicit Activity(Shared* shared) : shared_(shared) {}
    std::unique_ptr<Shared, Unmap> shared_;

    friend void note_activity(std::string_view, std::string_view);
};

// "WHAT NAME", kept as it is, without allocating; at most 1,000 bytes of it.
void note_activity(std::string_view what, std::string_view name);

}  // namespace belay::core

// What a container's holder has to say while tasks run: each a line of its own, "belay: TEXT". Plain texts
// and nothing else, since the Slurm plugin, which knows libc only, passes them on.
#pragma once

namespace belay::env {

inline constexpr char kNoticePrefix[] = "belay: ";

enum Notice { kFilesFull, kImageGone, kNotices };

inline constexpr const char* kNoticeTexts[kNotices] = {
    "tasks have filled the memory for the container's own files; see env.overlay_size",
    "squashfuse_ll, which serves an image to the container, has ended, so that its files are gone; was it "
    "killed for lack of memory?"};

}  // namespace belay::env

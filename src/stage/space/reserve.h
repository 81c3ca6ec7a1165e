// What stays free.
#pragma once

namespace belay::stage {

// Of the space and inodes that are free, for others who write there, too.
inline constexpr double kReservedShare = 0.1;

}  // namespace belay::stage

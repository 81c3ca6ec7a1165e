// Why a database refused, beyond what core/error.h knows: causes that only those who use this module decide by. They do not leave
// the process: core/error_codec.h does not carry them.
#pragma once

#include "core/error.h"

namespace belay::database {

inline constexpr core::Cause kDuplicate{64};  // what must be there once is there already
inline constexpr core::Cause kReference{65};  // it refers to what is not there, or others refer to it
inline constexpr core::Cause kConflict{
    66};  // another one was faster, or holds it: the same may succeed when it is tried again

}  // namespace belay::database

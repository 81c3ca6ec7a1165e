// Whom a user believes in a store that others write to.
//
// A directory to which not everybody may write is shared on purpose: what lies there is believed, whoever of
// its group put it there. Of one that everybody may write to (mode 1777) is believed what belongs to the
// user, to root or to the owner of the store, who are believed anyway; without the sticky bit, nothing.
#pragma once

#include "image/store_layout.h"

#include <filesystem>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace belay::image {

// Whether `path`, below the directory `root`, is there and each step to it was made by somebody who is
// believed. Errors: kSystem where that cannot be seen.
core::Result<bool> is_believed(const std::filesystem::path& root, const std::filesystem::path& path);

// Where in a store everybody may write to, a user keeps what only he believes: "user-1000", or where somebody
// else has taken that name, a directory of this user's of the form "user-1000-Ab12Cd". Only this user may
// write to it. Nothing if there is none. Errors: as is_believed.
core::Result<std::optional<StoreLayout>> own_part(const StoreLayout& store);

// Whether anybody may put files there, also one that believed somebody else made elsewhere: a file that bears
// only its name, and no digest, is not to be taken for an image then. Errors: as is_believed.
core::Result<bool> is_open_to_all(const StoreLayout& part);

// The parts of a store to look in, the user's own first. Errors: as is_believed.
core::Result<std::vector<StoreLayout>> parts_of(const StoreLayout& store);

// The part that the user's imports go to, with its directories, as open to other users as its root is: the
// store itself, or the user's own where he is not the owner and everybody may write. Errors: kSystem with a
// hint.
core::Result<StoreLayout> make_store(const StoreLayout& store);

// Takes away what is at `path` and not believed. Errors: kSystem with a hint where only its owner may do so.
core::Result<> make_way(const StoreLayout& layout, const std::filesystem::path& path);

// The user whose file it is, " of ann"; empty if it is not there.
std::string owner_of(const std::filesystem::path& path);

}  // namespace belay::image

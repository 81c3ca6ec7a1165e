// Getting an image from its registry, apart from environment.h because it needs a dozen libraries more.
#pragma once

#include "step/environment.h"

namespace belay::step {

// With the logins of this user's files; says on stderr what it gets. Errors also: kTimedOut where a file of
// the store does not answer for the setting files.wait.
Importer import_from_registry();

}  // namespace belay::step

// Where Slurm itself finds munge.
#pragma once

#include <string>
#include <string_view>

namespace belay::slurm {

// PATH of `AuthInfo=socket=PATH` in the text of a slurm.conf (slurm.conf(5)); empty where it names none, and Slurm takes
// the one that libmunge knows. Files that it includes are not read.
std::string munge_socket_in(std::string_view slurm_conf);

// The same of the slurm.conf of this process: that which SLURM_CONF names, else /etc/slurm/slurm.conf. Empty where it
// cannot be read.
std::string munge_socket_of_slurm();

}  // namespace belay::slurm

// What the plugin and the program beside it (belay-step) say to each other. The plugin is loaded into srun
// and, as root, into slurmstepd; so it is small, links nothing but libc, and reads no user text: the program
// does that, as the user.
//
//   srun: plugin ── exec ──> belay-step prepare           prints the plan, which travels in kPlanVariable
//   first task of a node: plugin ── exec ──> belay-step node     vets, makes the container, offers it to the
//   tasks each task: plugin ── fork, exec ──> belay-step supervise     where the step is recorded
#pragma once

#include <cstddef>

namespace belay::spank {

// In the step's environment between srun and slurmstepd; tasks never see it. Slurm passes variables that
// begin so also with `srun --export=NONE` and `--export=NAME=VALUE`.
inline constexpr char kPlanVariable[] = "SLURM_BELAY_PLAN";

// Instead of a plan: the step only asked to be recorded, and that is not possible. srun has said why.
inline constexpr char kNoPlan[] = "none";

// Linux takes strings of at most 128 KiB in an environment (execve(2), MAX_ARG_STRLEN with pages of 4 KiB).
inline constexpr size_t kLongestPlan = size_t{120} << 10;

// A plan is "SECONDS {…": how long tasks wait for belay-step at most, then what only belay-step reads. Of a
// step that is only recorded it is "SECONDSr {…": what fails then is no reason not to run. The plan says so,
// and not the options as a node knows them, which may have other names there.
inline constexpr char kOnlyRecorded = 'r';
inline constexpr long kMostSeconds = 7 * 86400;

// What the dynamic loader would heed (LD_…) reaches belay-step with this before its name: the job's libraries
// are not Belay's. belay-step takes it off again, since a job's variables may be asked for.
inline constexpr char kLoaderPrefix[] = "BELAY_HIDDEN_";

// belay-step offers the tasks of a node all they need in one packet, which stays in the socket: each task
// looks at it (MSG_PEEK). So no more descriptors are on their way than one packet holds, however many tasks
// there are: of an ordinary user the kernel refuses more than RLIMIT_NOFILE in all (sendmsg: ETOOMANYREFS).
// The packet is one byte; with kOffer come descriptors, the namespaces only with a container.
enum Verdict : char {
    kOffer = 'o',
    kRefuse = 'r',  // it has said why
    kGo = 'g',
};
enum Offered { kInstructionFile, kStartPipe, kUserNamespace, kMountNamespace, kMostDescriptors };
// When all nodes are ready, the pipe holds a byte for each task: kGo or kRefuse.

// On a socket of its own, the container's holder tells slurmstepd when its files are full or gone: slurmstepd
// must not read what is for the tasks.

// An instruction file holds strings, each ended by NUL; the first byte says which.
enum InstructionKind : char {
    kSetVariable = 's',    // NAME=VALUE
    kOfferVariable = 'o',  // NAME=VALUE, unless the task has one of that name
    kUnsetVariable = 'u',  // NAME
    kJoinContainer = 'c',  // WORKDIR
    kSupervise = 'r',      // the step is recorded
};
inline constexpr size_t kLongestInstructions = size_t{4} << 20;

}  // namespace belay::spank

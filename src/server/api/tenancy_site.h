// A site made up for tests of who sees what: projects that nest, users, and jobs; and a second wording of the rule, by which the
// answers of the routes are judged. It was written after docs/security.md, not after access/policy.cpp.
#pragma once

#include "server/state/account_store.h"
#include "server/state/job.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace belay::server::testing {

struct SiteUser {
    std::string name;
    bool is_staff = false;
};

struct Site {
    static constexpr size_t kProjects = 80, kUsers = 2000;

    std::vector<std::string> projects;
    std::map<std::string, std::string> parents;
    std::vector<SiteUser> users;
    std::map<std::string, std::set<std::string>> members, managers;  // users of a project
    std::vector<Job> jobs;

    AccountRows rows() const {
        AccountRows rows;
        for (const std::string& project : projects) {
            const auto parent = parents.find(project);
            rows.accounts.push_back({project, parent == parents.end() ? "" : parent->second});
        }
        for (const auto& [project, names] : members)
            for (const std::string& name : names)
                rows.members.push_back(
                    {project, name, managers.contains(project) && managers.at(project).contains(name)});
        return rows;
    }

    bool is_managed_by(std::string project, const std::string& user) const {
        while (!project.empty()) {
            if (managers.contains(project) && managers.at(project).contains(user)) return true;
            const auto parent = parents.find(project);
            project = parent == parents.end() ? "" : parent->second;
        }
        return false;
    }
    bool is_visible(const Job& job, const SiteUser& user) const {
        if (user.is_staff || job.user == user.name) return true;
        if (is_managed_by(job.account, user.name)) return true;
        return job.sharing == Sharing::kProject && members.contains(job.account) &&
               members.at(job.account).contains(user.name);
    }
    bool may_change(const Job& job, const SiteUser& user) const { return job.user == user.name; }
};

// The same numbers give the same site.
inline Site make_site(size_t jobs, unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    Site site;
    for (size_t i = 0; i < Site::kProjects; ++i) {
        site.projects.push_back("p" + std::to_string(i));
        // Eight at the top; each of the others lies below an earlier one.
        if (i >= 8) site.parents[site.projects[i]] = site.projects[below(i)];
    }
    for (size_t i = 0; i < Site::kUsers; ++i) {
        site.users.push_back({"u" + std::to_string(i), i % 100 == 99});
        const size_t count = below(4);  // some belong to no project
        for (size_t k = 0; k < count; ++k) {
            const std::string& project = site.projects[below(Site::kProjects)];
            site.members[project].insert(site.users[i].name);
            if (below(10) == 0) site.managers[project].insert(site.users[i].name);
        }
    }
    const core::Time begin = core::time_from_nanoseconds(1'764'000'000'000'000'000);
    for (size_t i = 0; i < jobs; ++i) {
        Job job;
        job.cluster = "alps";
        job.id = static_cast<int64_t>(1000 + i);
        job.key = "alps-" + std::to_string(job.id) + "-0-" + std::to_string(1'764'000'000 + i);
        job.submit = job.start = begin + std::chrono::seconds(i);
        job.user = site.users[below(Site::kUsers)].name;
        std::vector<std::string> own;
        for (const auto& [project, names] : site.members)
            if (names.contains(job.user)) own.push_back(project);
        job.account = own.empty() ? "" : own[below(own.size())];
        job.name = "train-" + std::to_string(i);
        job.slurm_state = "RUNNING";
        job.nodes = {"n" + std::to_string(below(500))};
        job.sharing = below(3) == 0 ? Sharing::kProject : Sharing::kOwner;
        job.origin = JobOrigin::kSlurm;
        site.jobs.push_back(std::move(job));
    }
    return site;
}

}  // namespace belay::server::testing

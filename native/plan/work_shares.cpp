// Whole families go to one thread where they are small enough, else whole groups, else rows: gradients of rows that
// only one thread reads need no copies of their own.
#include "plan/work_shares.hpp"

#include <algorithm>

namespace nbfnet {

namespace {

struct Costs {
    std::vector<double> of_group, of_family;
    double total = 0;
};

double cost_of_row(const Graph &g, int32_t node) {
    return edges_worth_a_row + static_cast<double>(g.indptr[node + 1] - g.indptr[node]);
}

int64_t computed_groups(const RowPlan &plan) { return plan.background_given ? plan.queries : plan.groups(); }

Costs find_costs(const RowPlan &plan, const Graph &g, const Level &level) {
    Costs costs{std::vector<double>(plan.groups(), 0), std::vector<double>(plan.families, 0), 0};
    for (int64_t group = 0; group < computed_groups(plan); ++group) {
        for (int64_t i = level.begin[group]; i < level.begin[group + 1]; ++i)
            costs.of_group[group] += cost_of_row(g, level.node[i]);
        costs.of_family[plan.family[group]] += costs.of_group[group];
        costs.total += costs.of_group[group];
    }
    return costs;
}

}  // namespace

WorkShares share_work(const RowPlan &plan, const Graph &g, int64_t iteration, int threads) {
    const Level &level = plan.levels[iteration];
    const Costs costs = find_costs(plan, g, level);
    const double small = threads == 1 ? costs.total : 0.25 * costs.total / threads;
    WorkShares shares{std::vector<std::vector<Share>>(threads), std::vector<char>(plan.groups(), 0)};
    std::vector<double> load(threads, 0);

    auto give = [&](int64_t group, int64_t begin, int64_t end, int thread, double cost) {
        if (begin < end) shares.of_thread[thread].push_back({group, begin, end});
        load[thread] += cost;
    };
    auto least_loaded = [&] { return static_cast<int>(std::min_element(load.begin(), load.end()) - load.begin()); };
    auto split = [&](int64_t group) {
        const double part = costs.of_group[group] / threads;
        int64_t row = level.begin[group];
        const int64_t end = level.begin[group + 1];
        double given = 0;
        for (int thread = 0; thread < threads; ++thread) {
            const int64_t begin = row;
            const double before = given;
            while (row < end && (thread == threads - 1 || given < part * (thread + 1)))
                given += cost_of_row(g, level.node[row++]);
            give(group, begin, row, thread, given - before);
        }
    };

    // Split groups first: what each thread has of them is the ground that whole families and groups then level out.
    std::vector<int64_t> whole;
    for (int64_t group = 0; group < computed_groups(plan); ++group) {
        if (costs.of_family[plan.family[group]] > small) shares.contested[plan.background(group)] = threads > 1;
        if (costs.of_group[group] > small) {
            shares.contested[group] = threads > 1;
            split(group);
        } else {
            whole.push_back(group);
        }
    }
    std::stable_sort(whole.begin(), whole.end(), [&](int64_t a, int64_t b) {
        return costs.of_family[plan.family[a]] > costs.of_family[plan.family[b]];
    });
    std::vector<int> thread_of_family(plan.families, -1);
    for (const int64_t group : whole) {
        const int32_t family = plan.family[group];
        int thread = least_loaded();
        double cost = costs.of_group[group];
        if (costs.of_family[family] <= small) {
            // A small family goes to one thread, which bears the cost of all its groups from the first one on.
            const bool new_family = thread_of_family[family] < 0;
            if (new_family) thread_of_family[family] = thread;
            thread = thread_of_family[family];
            cost = new_family ? costs.of_family[family] : 0;
        }
        give(group, level.begin[group], level.begin[group + 1], thread, cost);
    }
    return shares;
}

}  // namespace nbfnet

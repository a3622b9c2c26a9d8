// Which rows can matter.
//
// h^(t)_v of a query depends on its source u only once dist(u, v) <= t; before, it is the background's b^(t)_v. And it
// matters only if dist(v, nearest target) <= T - t. So v is a row of its query exactly for
//     first_v = dist(u, v) <= t <= T - dist(v, nearest target) = last_v.
// A change of the in-edges of some nodes acts like a source that is one edge away from each of them: first_v is then
// 1 + dist(nearest changed node, v), and the background is what was computed before the change.
// The background b^(t)_v is computed for t <= need_v, the latest iteration at which anything reads it.
#include "plan/row_plan.hpp"

#include <algorithm>
#include <numeric>

#include "memory/parallel.hpp"
#include "plan/background_need.hpp"
#include "plan/cone_search.hpp"
#include "plan/degree_order.hpp"

namespace nbfnet {

namespace {

constexpr double worth_all = 0.9;  // the share of the work for all nodes that is worth doing all of it

class Planner {
  public:
    explicit Planner(const PlanRequest &request) : r(request), g(request.graph), order(*request.graph.order) {}

    RowPlan plan() {
        RowPlan result;
        result.queries = static_cast<int64_t>(r.source.size());
        result.families = r.families;
        result.iterations = r.iterations;
        result.graph = g.serial;
        result.background_given = r.background_given;
        result.source = r.source;
        result.source.resize(result.groups(), -1);
        result.family = r.family;
        for (int64_t f = 0; f < r.families; ++f) result.family.push_back(static_cast<int32_t>(f));

        cones.resize(result.queries);
        needs.assign(r.families, {});
        dense.assign(r.families, !r.frontier);
        if (r.frontier) find_cones();
        if (r.frontier) choose_dense_families();
        list_rows(result);
        find_targets(result);
        return result;
    }

  private:
    bool all_targets() const { return r.target_begin.empty(); }
    bool are_changed() const { return !r.changed_begin.empty(); }

    void find_cones() {
        const int threads = std::max(1, r.threads);
        std::vector<std::vector<std::vector<int8_t>>> need_of_thread(threads);
        parallel(threads, [&](int thread) {
            ConeSearch search(g);
            std::vector<int8_t> last(g.nodes, -1);
            auto &need = need_of_thread[thread];
            need.resize(r.families);
            for (size_t q = thread; q < r.source.size(); q += threads) {
                auto &mine = need[r.family[q]];
                if (mine.empty()) mine.assign(g.nodes, -1);
                find_cone(q, search, last.data(), mine.data());
            }
        });
        parallel(threads, [&](int thread) {
            for (int64_t f = thread; f < r.families; f += threads) {
                auto &need = needs[f];
                // Without any query the background itself is asked for.
                need.assign(g.nodes, r.source.empty() ? static_cast<int8_t>(r.iterations) : -1);
                for (const auto &of_thread : need_of_thread)
                    if (!of_thread[f].empty())
                        for (int64_t v = 0; v < g.nodes; ++v) need[v] = std::max(need[v], of_thread[f][v]);
                if (!r.background_given) spread_need(g, r.iterations, need.data());
            }
        });
    }

    // `last` (node) is -1 everywhere, before and after.
    void find_cone(size_t q, ConeSearch &search, int8_t *last, int8_t *need) {
        const int8_t end_of_all = static_cast<int8_t>(r.iterations);
        Cone &cone = cones[q];
        if (all_targets()) {
            search.from_source(r.source[q], r.iterations);
            if (!r.background_given)
                for (int64_t v = 0; v < g.nodes; ++v)
                    if (search.first[v] == never) need[v] = end_of_all;
            cone.node = search.reached;
        } else {
            const int32_t *begin = r.target.data() + r.target_begin[q], *end = r.target.data() + r.target_begin[q + 1];
            if (are_changed()) {
                const int32_t *changed = r.changed.data();
                search.between(changed + r.changed_begin[q], changed + r.changed_begin[q + 1], begin, end,
                               r.iterations - 1);
                search.delay();
            } else {
                search.between(&r.source[q], &r.source[q] + 1, begin, end, r.iterations);
            }
            for (const int32_t *v = begin; v != end; ++v)
                if (search.first[*v] == never) need[*v] = end_of_all;
            for (const int32_t v : search.queue)
                if (search.first[v] <= r.iterations - search.to_target[v]) cone.node.push_back(v);
        }
        for (const int32_t v : cone.node) last[v] = all_targets() ? end_of_all : end_of_all - search.to_target[v];
        order.sort(cone.node);
        for (const int32_t v : cone.node) {
            cone.first.push_back(search.first[v]);
            cone.last.push_back(last[v]);
            const int times = cone.last.back() - std::max<int8_t>(cone.first.back(), 1) + 1;
            cone.rows += times;
            cone.edges += static_cast<double>(times) * degree(g, v);
        }
        add_need(g, cone, search.first, last, r.iterations, need);
        for (const int32_t v : cone.node) last[v] = -1;
        search.clean();
    }

    // A family whose cones and background together cost no less than its queries in full is computed in full.
    void choose_dense_families() {
        std::vector<double> cost(r.families, 0), full(r.families, 0);
        const double all = static_cast<double>(r.iterations) * (g.edges + edges_worth_a_row * g.nodes);
        for (size_t q = 0; q < cones.size(); ++q) {
            cost[r.family[q]] += cones[q].edges + edges_worth_a_row * cones[q].rows;
            full[r.family[q]] += all;
        }
        for (int64_t f = 0; f < r.families; ++f) {
            for (int64_t v = 0; !r.background_given && v < g.nodes; ++v)
                if (needs[f][v] > 0) cost[f] += needs[f][v] * (degree(g, static_cast<int32_t>(v)) + edges_worth_a_row);
            dense[f] = !are_changed() && full[f] > 0 && cost[f] >= full[f];
        }
    }

    void list_rows(RowPlan &plan) const {
        plan.levels.resize(r.iterations + 1);
        std::vector<int64_t> edges(r.iterations + 1, 0);
        const int threads = std::max(1, r.threads);
        parallel(threads, [&](int thread) {
            for (int64_t t = thread; t <= r.iterations; t += threads) {
                Level &level = plan.levels[t];
                level.begin.assign(1, 0);
                for (int64_t group = 0; group < plan.groups(); ++group) {
                    list_group(plan, group, t, level.node);
                    level.begin.push_back(level.rows());
                }
                for (const int32_t v : level.node) edges[t] += degree(g, v);
            }
        });
        plan.edges = std::accumulate(edges.begin() + 1, edges.end(), int64_t{0});
    }

    void list_group(const RowPlan &plan, int64_t group, int64_t t, std::vector<int32_t> &rows) const {
        const int32_t family = plan.family[group];
        if (group >= plan.queries) {
            if (t == 0 || dense[family]) return;
            for (const int32_t v : order.nodes())
                if (needs[family][v] >= t) rows.push_back(v);
        } else if (t == 0) {
            if (dense[family] || !cones[group].node.empty()) rows.push_back(plan.source[group]);
        } else if (dense[family]) {
            rows.insert(rows.end(), order.nodes().begin(), order.nodes().end());
        } else {
            const Cone &cone = cones[group];
            const size_t begin = rows.size();
            for (size_t i = 0; i < cone.node.size(); ++i)
                if (cone.first[i] <= t && t <= cone.last[i]) rows.push_back(cone.node[i]);
            if (t < r.iterations && !r.background_given &&
                are_almost_all(rows.data() + begin, rows.data() + rows.size())) {
                rows.resize(begin);
                rows.insert(rows.end(), order.nodes().begin(), order.nodes().end());
            }
        }
    }

    // Where only a few nodes are missing their rows are computed as well: then a head's row is its rank, and no edge
    // has to look for it. A row that the source has not reached is what the background is, wherever anything reads it.
    bool are_almost_all(const int32_t *begin, const int32_t *end) const {
        const double there = edges_of(g.indptr, begin, end) + edges_worth_a_row * (end - begin);
        return there >= worth_all * (g.edges + edges_worth_a_row * g.nodes);
    }

    // A target's row is its query's, or the background's where the source does not reach it.
    void find_targets(RowPlan &plan) const {
        if (all_targets()) return;
        const Level &last = plan.levels[r.iterations];
        std::vector<int64_t> of_query(g.nodes, -1), of_background(g.nodes, -1);
        auto mark = [&](std::vector<int64_t> &row_of, int64_t group, bool set) {
            for (int64_t i = last.begin[group]; i < last.begin[group + 1]; ++i) row_of[last.node[i]] = set ? i : -1;
        };
        std::vector<std::vector<int64_t>> queries_of(r.families);
        for (int64_t q = 0; q < plan.queries; ++q) queries_of[r.family[q]].push_back(q);
        plan.target_row.resize(r.target.size());
        for (int64_t f = 0; f < r.families; ++f) {
            mark(of_background, plan.queries + f, true);
            for (const int64_t q : queries_of[f]) {
                mark(of_query, q, true);
                for (int64_t i = r.target_begin[q]; i < r.target_begin[q + 1]; ++i) {
                    const int64_t own = of_query[r.target[i]];
                    plan.target_row[i] = own >= 0 ? own : of_background[r.target[i]];
                }
                mark(of_query, q, false);
            }
            mark(of_background, plan.queries + f, false);
        }
    }

    const PlanRequest &r;
    const Graph &g;
    const DegreeOrder &order;
    std::vector<Cone> cones;                 // (query)
    std::vector<std::vector<int8_t>> needs;  // (family, node) the latest iteration whose background is read
    std::vector<char> dense;                 // (family)
};

}  // namespace

RowPlan make_plan(const PlanRequest &request) { return Planner(request).plan(); }

}  // namespace nbfnet

// ConeSearch: two bounded breadth-first searches, from a query's source and back from its targets.
//
// They meet in the middle: half of the way from the source and half from the targets everything is looked at, from
// there on only what the other search has seen near enough.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "plan/row_plan.hpp"

namespace nbfnet {

inline constexpr int8_t never = 127;  // beyond any number of iterations

// A query's nodes with the iterations first .. last at which each is a row.
struct Cone {
    std::vector<int32_t> node;
    std::vector<int8_t> first, last;
    double edges = 0, rows = 0;  // over all iterations
};

inline int64_t edges_of(const int64_t *indptr, const int32_t *begin, const int32_t *end) {
    int64_t edges = 0;
    for (const int32_t *v = begin; v != end; ++v) edges += indptr[*v + 1] - indptr[*v];
    return edges;
}

// Whether a step that could walk the edges of these nodes, or stop early at most nodes of the graph, should do the
// latter.
inline bool is_large(const Graph &g, const int64_t *indptr, const int32_t *begin, const int32_t *end) {
    return 8 * edges_of(indptr, begin, end) > g.edges;
}

// One for each thread, clean between queries.
class ConeSearch {
  public:
    std::vector<int8_t> first, to_target;  // (node) distances from the source and to the targets, where they can matter
    std::vector<int32_t> reached, queue;   // the nodes that have the one, the other

    explicit ConeSearch(const Graph &graph)
        : first(graph.nodes, never), to_target(graph.nodes, never), g(graph), everyone(graph.nodes) {
        std::iota(everyone.begin(), everyone.end(), 0);
    }

    // Every node that the source reaches in so many iterations.
    void from_source(int32_t source, int64_t iterations) {
        start(&source, &source + 1, first, reached);
        size_t begin = 0;
        for (int64_t t = 1; t <= iterations; ++t) begin = step_forward(begin, t, everyone, g.edges / 8, anything);
    }

    // Every node between a source and a target, at most so many edges from the one by way of the other.
    void between(const int32_t *sources, const int32_t *sources_end, const int32_t *targets, const int32_t *targets_end,
                 int64_t iterations) {
        const int64_t half = iterations / 2, rest = std::max<int64_t>(iterations - half - 1, 0);
        start(targets, targets_end, to_target, queue);
        size_t last = 0, begin = 0;  // where the nodes furthest from the targets begin, and those from the source
        for (int64_t away = 1; away <= rest; ++away) last = step_backward(last, away, everyone, anything);
        start(sources, sources_end, first, reached);
        for (int64_t t = 1; t <= half; ++t) begin = step_forward(begin, t, everyone, g.edges / 8, anything);
        const int64_t edges = edges_of(g.indptr, queue.data(), queue.data() + queue.size());
        for (int64_t t = half + 1; t <= iterations; ++t)
            begin = step_forward(begin, t, queue, edges, [&](int32_t v) { return to_target[v] <= iterations - t; });
        // Nobody comes to a target in time by way of a node that the source reaches too late.
        auto is_late = [&](int32_t v) { return first[v] > iterations - rest; };
        last = std::partition(queue.begin() + last, queue.end(), is_late) - queue.begin();
        for (int64_t away = rest + 1; away <= iterations; ++away)
            last = step_backward(last, away, reached, [&](int32_t x) { return first[x] <= iterations - away; });
    }

    // The reached nodes are reached one iteration later.
    void delay() {
        for (const int32_t v : reached) ++first[v];
    }

    void clean() {
        for (const int32_t v : reached) first[v] = never;
        for (const int32_t v : queue) to_target[v] = never;
        reached.clear();
        queue.clear();
    }

    template <class Is>
    static bool any(const int32_t *neighbour, const int64_t *indptr, int32_t v, const Is &is) {
        for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e)
            if (is(neighbour[e])) return true;
        return false;
    }

  private:
    static bool anything(int32_t) { return true; }

    static void start(const int32_t *begin, const int32_t *end, std::vector<int8_t> &distance,
                      std::vector<int32_t> &list) {
        for (; begin != end; ++begin)
            if (distance[*begin] == never) {
                distance[*begin] = 0;
                list.push_back(*begin);
            }
    }

    // From the reached nodes from `begin` on to those one edge further that matter; where these begin. The candidates
    // may look for them in place, if they have fewer edges than those nodes.
    template <class Matters>
    size_t step_forward(size_t begin, int64_t t, const std::vector<int32_t> &candidates, int64_t edges,
                        const Matters &matters) {
        const Ways out{g.out_indptr, g.target}, in{g.indptr, g.source};
        return step(reached, first, begin, t, out, in, candidates, edges, matters);
    }

    // The same from the nodes of the queue, against the edges.
    template <class Matters>
    size_t step_backward(size_t begin, int64_t away, const std::vector<int32_t> &candidates, const Matters &matters) {
        const Ways out{g.out_indptr, g.target}, in{g.indptr, g.source};
        return step(queue, to_target, begin, away, in, out, candidates, g.edges / 8, matters);
    }

    struct Ways {
        const int64_t *indptr;
        const int32_t *neighbour;
    };

    template <class Matters>
    static size_t step(std::vector<int32_t> &list, std::vector<int8_t> &distance, size_t begin, int64_t d,
                       const Ways &on, const Ways &back, const std::vector<int32_t> &candidates, int64_t edges,
                       const Matters &matters) {
        const size_t end = list.size();
        auto is_new = [&](int32_t v) { return distance[v] == never && matters(v); };
        auto reach = [&](int32_t v) {
            distance[v] = static_cast<int8_t>(d);
            list.push_back(v);
        };
        if (edges_of(on.indptr, list.data() + begin, list.data() + end) > edges) {
            auto is_last = [&](int32_t x) { return distance[x] == d - 1; };
            for (const int32_t v : candidates)
                if (is_new(v) && any(back.neighbour, back.indptr, v, is_last)) reach(v);
        } else {
            for (size_t i = begin; i < end; ++i)
                for (int64_t e = on.indptr[list[i]], last = on.indptr[list[i] + 1]; e < last; ++e)
                    if (is_new(on.neighbour[e])) reach(on.neighbour[e]);
        }
        return end;
    }

    const Graph &g;
    std::vector<int32_t> everyone;
};

}  // namespace nbfnet

// need_v: the latest iteration t at which anything of a family of queries reads the background b^(t)_v; -1 where
// nothing ever does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/cone_search.hpp"

namespace nbfnet {

// What a query's rows read of the background: their in-neighbours, and themselves, as long as the source has not come.
// `last` (node) is negative where a node is no row of the query.
inline void add_need(const Graph &g, const Cone &cone, const std::vector<int8_t> &first, const int8_t *last,
                     int64_t iterations, int8_t *need) {
    for (size_t i = 0; i < cone.node.size(); ++i)
        need[cone.node[i]] = std::max<int8_t>(need[cone.node[i]], cone.first[i] - 1);
    // v reads the background of x until the source has come to x, and from when it has come to v.
    auto read = [&](int32_t v, int32_t x) {
        if (first[x] >= first[v]) need[x] = std::max<int8_t>(need[x], std::min(last[v], first[x]) - 1);
    };
    if (is_large(g, g.indptr, cone.node.data(), cone.node.data() + cone.node.size())) {
        for (int32_t x = 0; x < g.nodes; ++x) {
            const int8_t most = static_cast<int8_t>(std::min<int64_t>(iterations, first[x]) - 1);
            for (int64_t e = g.out_indptr[x]; need[x] < most && e < g.out_indptr[x + 1]; ++e)
                if (last[g.target[e]] >= 0) read(g.target[e], x);
        }
    } else {
        for (const int32_t v : cone.node)
            for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; ++e) read(v, g.source[e]);
    }
}

// b^(t)_v reads b^(t-1) of v's in-neighbours: the need spreads backwards, from late iterations to early ones.
inline void spread_need(const Graph &g, int64_t iterations, int8_t *need) {
    std::vector<std::vector<int32_t>> due(iterations + 1);
    for (int64_t v = 0; v < g.nodes; ++v)
        if (need[v] > 0) due[need[v]].push_back(static_cast<int32_t>(v));
    for (int64_t t = iterations; t > 1; --t) {
        auto reach = [&](int32_t x) {
            need[x] = static_cast<int8_t>(t - 1);
            due[t - 1].push_back(x);
        };
        if (is_large(g, g.indptr, due[t].data(), due[t].data() + due[t].size())) {
            auto is_due = [&](int32_t v) { return need[v] == t; };
            for (int32_t x = 0; x < g.nodes; ++x)
                if (need[x] < t - 1 && ConeSearch::any(g.target, g.out_indptr, x, is_due)) reach(x);
        } else {
            for (const int32_t v : due[t])
                for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; ++e)
                    if (need[g.source[e]] < t - 1) reach(g.source[e]);
        }
    }
}

}  // namespace nbfnet

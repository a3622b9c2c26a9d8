// Whether every index of a list of edges is in bounds: the kernels themselves never look.
#include <cstdint>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

bool edges_fit(In<int64_t> indptr, In<int32_t> source_index, In<int32_t> relation_index, int64_t sources,
               int64_t relations, int64_t threads) {
    const int64_t rows = static_cast<int64_t>(indptr.shape(0)) - 1, edges = source_index.shape(0);
    const int64_t *begin = indptr.data();
    const int32_t *source = source_index.data(), *relation = relation_index.data();
    nb::gil_scoped_release release;

    if (begin[0] != 0 || begin[rows] != edges) return false;
    bool ordered = true;
    for (int64_t row = 0; row < rows; ++row) ordered &= begin[row] <= begin[row + 1];
    if (!ordered || edges == 0) return ordered;
    if (sources == 0 || relations == 0) return false;
    // An index below 0 has its sign bit set, and so has (last - index) for an index beyond the last: no branch needed.
    const uint32_t last_source = static_cast<uint32_t>(sources - 1);
    const uint32_t last_relation = static_cast<uint32_t>(relations - 1);
    uint32_t signs = 0;
#pragma omp parallel for reduction(| : signs) num_threads(static_cast<int>(threads)) if (edges > (1 << 16))
    for (int64_t edge = 0; edge < edges; ++edge) {
        const uint32_t s = static_cast<uint32_t>(source[edge]), r = static_cast<uint32_t>(relation[edge]);
        signs |= s | (last_source - s) | r | (last_relation - r);
    }
    return signs >> 31 == 0;
}

}  // namespace
}  // namespace nbfnet

void bind_edges_fit(nb::module_ &m) {
    m.def("edges_fit", &nbfnet::edges_fit, "indptr"_a.noconvert(), "source_index"_a.noconvert(),
          "relation"_a.noconvert(), "num_sources"_a, "num_relations"_a, "threads"_a);
}

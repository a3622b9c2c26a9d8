// Sampling as Python calls it.
#include <nanobind/stl/tuple.h>
#include <string>
#include <utility>
#include <vector>

#include "python/checks.hpp"
#include "python/results.hpp"
#include "sampling/neighbourhood.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

// The facts of a graph by tail and by head. What they hold is not read here: a store may be larger than memory. Every
// number that a search follows is compared with its bound while it searches.
class FactArrays {
  public:
    FactArrays(In<int64_t> indptr, In<int32_t> source, In<int32_t> relation, In<int64_t> out_indptr, In<int32_t> target,
               In<int64_t> out_slot)
        : indptr_(indptr),
          source_(source),
          relation_(relation),
          out_indptr_(out_indptr),
          target_(target),
          out_slot_(out_slot) {
        const int64_t nodes = expect_rows("indptr", indptr), edges = length(source);
        expect_length("relation", length(relation), edges);
        expect_length("out_indptr", length(out_indptr), nodes + 1);
        expect_length("target", length(target), edges);
        expect_length("out_slot", length(out_slot), edges);
    }

    FactRows rows() const {
        return {length(indptr_) - 1, length(source_),    indptr_.data(), source_.data(),
                relation_.data(),    out_indptr_.data(), target_.data(), out_slot_.data()};
    }

  private:
    In<int64_t> indptr_;
    In<int32_t> source_;
    In<int32_t> relation_;
    In<int64_t> out_indptr_;
    In<int32_t> target_;
    In<int64_t> out_slot_;
};

using Samples = std::tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<int64_t>, NumPy<int64_t>,
                           NumPy<int32_t>, NumPy<int32_t>, NumPy<int32_t>>;

// begin of each query's nodes, nodes, numbers of the entities that queries start from; begin of each query's edges,
// their slots, relations, and heads and tails by number.
Samples sample(const FactArrays &facts, In<int64_t> begin, In<int32_t> start, int64_t hops, int64_t neighbours,
               uint64_t seed, int threads) {
    const FactRows rows = facts.rows();
    const int64_t queries = length(begin) - 1;
    expect(queries >= 0, "begin is empty, expected at least one entry");
    expect_runs("begin", begin, queries, length(start));
    expect_ids("start", start, rows.nodes);
    expect(hops >= 0 && hops <= most_ids, "hops is " + std::to_string(hops) + ", expected 0 or more");
    expect(neighbours >= 0, "neighbours is " + std::to_string(neighbours) + ", expected 0 or more");
    expect_threads(threads);
    Neighbourhoods found = [&] {
        nb::gil_scoped_release release;
        return sample_neighbourhoods({rows, queries, begin.data(), start.data(), hops, neighbours, seed, threads});
    }();
    const int64_t nodes = found.node_begin.back(), edges = found.edge_begin.back();
    return {kept(std::move(found.node_begin)),
            kept<int32_t>(std::move(found.node), nodes),
            kept(std::move(found.start)),
            kept(std::move(found.edge_begin)),
            kept<int64_t>(std::move(found.slot), edges),
            kept<int32_t>(std::move(found.relation), edges),
            kept<int32_t>(std::move(found.head), edges),
            kept<int32_t>(std::move(found.tail), edges)};
}

}  // namespace
}  // namespace nbfnet

void bind_sampling(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<FactArrays>(m, "FactArrays")
        .def(nb::init<In<int64_t>, In<int32_t>, In<int32_t>, In<int64_t>, In<int32_t>, In<int64_t>>(),
             "indptr"_a.noconvert(), "source"_a.noconvert(), "relation"_a.noconvert(), "out_indptr"_a.noconvert(),
             "target"_a.noconvert(), "out_slot"_a.noconvert());
    m.def("sample_neighbourhoods", &sample, "facts"_a, "begin"_a.noconvert(), "start"_a.noconvert(), "hops"_a,
          "neighbours"_a, "seed"_a, "threads"_a);
}

// Relational SpMM as Python calls it: arrays of float or double in, results into arrays that the caller made.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>

#include "checks.hpp"
#include "operator_names.hpp"
#include "relational_spmm_batch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

template <class Scalar>
using InOfAnyDims = nb::ndarray<const Scalar, nb::c_contig, nb::device::cpu>;
template <class Scalar>
using OutOfAnyDims = nb::ndarray<Scalar, nb::c_contig, nb::device::cpu>;

template <class Scalar>
Batch<Scalar> make_batch(const In<Scalar, 3> &source, const In<Scalar, 3> &relation, const In<Scalar, 3> &boundary,
                         const In<int64_t> &indptr, const In<int32_t> &edge_source,
                         const In<int32_t> &edge_relation, const std::optional<In<Scalar>> &weight,
                         const std::string &message, const std::string &aggregate, int64_t threads) {
    const Batch<Scalar> batch{
        message_named(message), aggregate_named(aggregate),
        Edges<Scalar>{indptr.data(), edge_source.data(), edge_relation.data(), weight ? weight->data() : nullptr},
        source.data(), relation.data(), boundary.data(), length(boundary, 0), length(source, 1), length(relation, 0),
        length(relation, 1), length(boundary, 1), length(edge_source), length(boundary, 2), threads};
    expect_length("source", length(source, 0), batch.queries);
    if (!batch.shares_relation()) expect_length("edge_representation", batch.relation_queries, batch.queries);
    expect(length(source, 2) == batch.dim && length(relation, 2) == batch.dim,
           "source, edge_representation and boundary differ in their dims");
    expect(batch.message != Message::rotate || batch.dim % 2 == 0, "the message 'rotate' needs an even dim");
    expect_length("indptr", length(indptr), batch.rows + 1);
    expect_length("relation", length(edge_relation), batch.edge_count);
    if (weight) expect_length("weight", length(*weight), batch.edge_count);
    expect_threads(threads);
    expect(runs_fit(indptr.data(), batch.rows, batch.edge_count) &&
               ids_fit(edge_source.data(), batch.edge_count, batch.sources, threads) &&
               ids_fit(edge_relation.data(), batch.edge_count, batch.relations, threads),
           "the edges do not fit: indptr must rise from 0 to the number of edges (" + std::to_string(batch.edge_count) +
               "), source_index stay below " + std::to_string(batch.sources) + ", relation below " +
               std::to_string(batch.relations));
    return batch;
}

// (query, row, dim), or (query, row, statistic, dim) where there are several
template <class Scalar, class Array>
void expect_output(const char *name, const Array &out, const Batch<Scalar> &batch) {
    const bool several = batch.statistics() > 1;
    bool fits = out.ndim() == (several ? 4 : 3);
    fits = fits && length(out, 0) == batch.queries && length(out, 1) == batch.rows;
    fits = fits && (!several || length(out, 2) == batch.statistics()) && length(out, several ? 3 : 2) == batch.dim;
    expect(fits, std::string(name) + " does not have the shape of the output");
}

template <class Scalar>
void expect_like(const char *name, const Out<Scalar, 3> &gradient, const In<Scalar, 3> &input) {
    for (size_t axis = 0; axis < 3; ++axis) expect_length(name, length(gradient, axis), length(input, axis));
}

template <class Scalar>
void forward(In<Scalar, 3> source, In<Scalar, 3> relation, In<Scalar, 3> boundary, In<int64_t> indptr,
             In<int32_t> edge_source, In<int32_t> edge_relation, std::optional<In<Scalar>> weight,
             OutOfAnyDims<Scalar> out, const std::string &message, const std::string &aggregate, int64_t threads) {
    const Batch<Scalar> batch = make_batch<Scalar>(source, relation, boundary, indptr, edge_source, edge_relation,
                                                   weight, message, aggregate, threads);
    expect_output("out", out, batch);
    Scalar *result = out.data();
    nb::gil_scoped_release release;
    forward_batch(batch, result);
}

template <class Scalar>
void backward(InOfAnyDims<Scalar> grad_out, In<Scalar, 3> source, In<Scalar, 3> relation,
              In<Scalar, 3> boundary, In<int64_t> indptr, In<int32_t> edge_source, In<int32_t> edge_relation,
              std::optional<In<Scalar>> weight, Out<Scalar, 3> grad_source, Out<Scalar, 3> grad_relation,
              Out<Scalar, 3> grad_boundary, std::optional<Out<Scalar>> grad_weight, const std::string &message,
              const std::string &aggregate, int64_t threads) {
    const Batch<Scalar> batch = make_batch<Scalar>(source, relation, boundary, indptr, edge_source, edge_relation,
                                                   weight, message, aggregate, threads);
    expect_output("grad_out", grad_out, batch);
    expect_like("grad_source", grad_source, source);
    expect_like("grad_edge_representation", grad_relation, relation);
    expect_like("grad_boundary", grad_boundary, boundary);
    if (grad_weight) expect_length("grad_weight", length(*grad_weight), batch.edge_count);
    expect(!grad_weight || weight, "there is no weight to have a gradient");
    const BatchGradients<Scalar> gradients{grad_out.data(), grad_source.data(), grad_relation.data(),
                                           grad_boundary.data(), grad_weight ? grad_weight->data() : nullptr};
    nb::gil_scoped_release release;
    backward_batch(batch, gradients);
}

// No argument may be converted, inputs neither: the two types of number are told apart by them.
template <class Scalar>
void bind_for(nb::module_ &m) {
    m.def("relational_spmm_forward", &forward<Scalar>, "source"_a.noconvert(), "edge_representation"_a.noconvert(),
          "boundary"_a.noconvert(), "indptr"_a.noconvert(), "source_index"_a.noconvert(), "relation"_a.noconvert(),
          "weight"_a.noconvert().none(), "out"_a.noconvert(), "message"_a, "aggregate"_a, "threads"_a);
    m.def("relational_spmm_backward", &backward<Scalar>, "grad_out"_a.noconvert(),
          "source"_a.noconvert(), "edge_representation"_a.noconvert(), "boundary"_a.noconvert(),
          "indptr"_a.noconvert(), "source_index"_a.noconvert(), "relation"_a.noconvert(),
          "weight"_a.noconvert().none(), "grad_source"_a.noconvert(), "grad_edge_representation"_a.noconvert(),
          "grad_boundary"_a.noconvert(), "grad_weight"_a.noconvert().none(), "message"_a, "aggregate"_a,
          "threads"_a);
}

}  // namespace
}  // namespace nbfnet

void bind_relational_spmm(nb::module_ &m) {
    nbfnet::bind_for<float>(m);
    nbfnet::bind_for<double>(m);
}

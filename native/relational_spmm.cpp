// Relational SpMM as Python calls it: arrays of float or double in, results into arrays that the caller made.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>

#include "bindings.hpp"
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
    const auto size = [](const auto &array, size_t dim) { return static_cast<int64_t>(array.shape(dim)); };
    return {message_named(message), aggregate_named(aggregate),
            Edges<Scalar>{indptr.data(), edge_source.data(), edge_relation.data(), weight ? weight->data() : nullptr},
            source.data(), relation.data(), boundary.data(), size(boundary, 0), size(source, 1), size(relation, 0),
            size(relation, 1), size(boundary, 1), size(edge_source, 0), size(boundary, 2), threads};
}

template <class Scalar>
void forward(In<Scalar, 3> source, In<Scalar, 3> relation, In<Scalar, 3> boundary, In<int64_t> indptr,
             In<int32_t> edge_source, In<int32_t> edge_relation, std::optional<In<Scalar>> weight,
             OutOfAnyDims<Scalar> out, const std::string &message, const std::string &aggregate, int64_t threads) {
    const Batch<Scalar> batch = make_batch<Scalar>(source, relation, boundary, indptr, edge_source, edge_relation,
                                                   weight, message, aggregate, threads);
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

// The arrays of a RelationalCSR and its transpose as Python gives them, held as long as anything here uses them.
#pragma once

#include <nanobind/ndarray.h>

#include "row_plan.hpp"

namespace nbfnet {

using Int64s = nanobind::ndarray<const int64_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Int32s = nanobind::ndarray<const int32_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

struct GraphArrays {
    Int64s indptr;
    Int32s source, relation;
    Int64s out_indptr;
    Int32s target;

    Graph graph() const {
        return {static_cast<int64_t>(indptr.shape(0)) - 1, static_cast<int64_t>(source.shape(0)), indptr.data(),
                source.data(), relation.data(), out_indptr.data(), target.data()};
    }
};

}  // namespace nbfnet

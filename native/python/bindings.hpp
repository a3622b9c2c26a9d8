// One function for each source file that adds something to the module, and the arrays that they take.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nbfnet {

template <class T, int Dims = 1>
using In = nanobind::ndarray<const T, nanobind::ndim<Dims>, nanobind::c_contig, nanobind::device::cpu>;

// Arrays are bound with noconvert(): a converted output would be a copy that nobody sees, and ids that a narrower type
// cannot hold would become other ids.
template <class T, int Dims = 1>
using Out = nanobind::ndarray<T, nanobind::ndim<Dims>, nanobind::c_contig, nanobind::device::cpu>;

}  // namespace nbfnet

void bind_fused_iteration(nanobind::module_ &m);
void bind_meetings(nanobind::module_ &m);
void bind_paths(nanobind::module_ &m);
void bind_reading(nanobind::module_ &m);
void bind_row_plan(nanobind::module_ &m);
void bind_sampling(nanobind::module_ &m);
void bind_score(nanobind::module_ &m);

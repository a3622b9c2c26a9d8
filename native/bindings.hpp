// One function for each source file that adds something to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_beam_search(nanobind::module_ &m);
void bind_bellman_ford(nanobind::module_ &m);
void bind_block_pool(nanobind::module_ &m);
void bind_counting_sort(nanobind::module_ &m);
void bind_edges_fit(nanobind::module_ &m);
void bind_fused_iteration(nanobind::module_ &m);
void bind_instruction_set(nanobind::module_ &m);
void bind_relational_spmm(nanobind::module_ &m);
void bind_row_plan(nanobind::module_ &m);

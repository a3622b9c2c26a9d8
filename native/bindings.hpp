// One function for each source file that adds something to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_bellman_ford(nanobind::module_ &m);
void bind_counting_sort(nanobind::module_ &m);

// One function for each source file that adds something to the module.
#pragma once

#include <nanobind/nanobind.h>

void bind_counting_sort(nanobind::module_ &m);

// SPDX-License-Identifier: GPL-2.0
// MPI's C interface alone. Open MPI's C++ one, which MPI 3 has dropped, does not compile without
// warnings.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

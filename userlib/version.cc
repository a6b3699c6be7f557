// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Which rdma-core is this? The private interface has no call that tells, and
// its symbol version did not change when struct verbs_qp grew. What does tell is
// the library's file name: libibverbs.so.1.<abi>.<release>, which every build of
// rdma-core installs and the loader's link points to.
#include "version.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider_abi.h"

namespace weft {
namespace {

// "libibverbs.so.1.14.44.0" gives 44; 0 when the name is not of that form.
unsigned long release_of(const char* path) {
  static const char kName[] = "/libibverbs.so.";
  const char* name = strrchr(path, '/');
  if (name == nullptr || strncmp(name, kName, sizeof(kName) - 1) != 0) {
    return 0;
  }
  const char* at = name + sizeof(kName) - 1;
  for (int skip = 0; skip < 2; skip++) {  // the soname's number, the public ABI's
    at = strchr(at, '.');
    if (at == nullptr) {
      return 0;
    }
    at++;
  }
  return strtoul(at, nullptr, 10);
}

}  // namespace

bool rdma_core_matches() {
  static const char kRemedy[] =
      "libweft is not loaded; rebuild and reinstall: make && sudo make install";
  Dl_info info = {};
  char path[PATH_MAX];

  if (dladdr(reinterpret_cast<void*>(&verbs_set_ops), &info) == 0 || info.dli_fname == nullptr ||
      realpath(info.dli_fname, path) == nullptr) {
    fprintf(stderr, "libweft: cannot tell which libibverbs this is; %s\n", kRemedy);
    return false;
  }
  const unsigned long release = release_of(path);
  if (release == 0) {
    fprintf(stderr, "libweft: %s does not name its rdma-core release (built for %d); %s\n", path,
            WEFT_RDMA_CORE_RELEASE, kRemedy);
    return false;
  }
  if (release != WEFT_RDMA_CORE_RELEASE) {
    fprintf(stderr, "libweft: built for rdma-core %d, but %s is rdma-core %lu; %s\n",
            WEFT_RDMA_CORE_RELEASE, path, release, kRemedy);
    return false;
  }
  return true;
}

}  // namespace weft

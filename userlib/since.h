/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * WEFT_SINCE_N(text) is the text if libweft is built for rdma-core N or a later release, and
 * nothing otherwise. There is an N for each release that added an operation or a parameter which
 * libweft uses, or operations between those that libweft uses (releases.h).
 */
#ifndef WEFT_SINCE_H
#define WEFT_SINCE_H

#define WEFT_SINCE_44(...) __VA_ARGS__

#if WEFT_RDMA_CORE_RELEASE >= 54
#define WEFT_SINCE_54(...) __VA_ARGS__
#else
#define WEFT_SINCE_54(...)
#endif

#if WEFT_RDMA_CORE_RELEASE >= 57
#define WEFT_SINCE_57(...) __VA_ARGS__
#else
#define WEFT_SINCE_57(...)
#endif

#if WEFT_RDMA_CORE_RELEASE >= 59
#define WEFT_SINCE_59(...) __VA_ARGS__
#else
#define WEFT_SINCE_59(...)
#endif

#if WEFT_RDMA_CORE_RELEASE >= 62
#define WEFT_SINCE_62(...) __VA_ARGS__
#else
#define WEFT_SINCE_62(...)
#endif

#if WEFT_RDMA_CORE_RELEASE >= 64
#define WEFT_SINCE_64(...) __VA_ARGS__
#else
#define WEFT_SINCE_64(...)
#endif

#if WEFT_RDMA_CORE_RELEASE >= 65
#define WEFT_SINCE_65(...) __VA_ARGS__
#else
#define WEFT_SINCE_65(...)
#endif

#endif /* WEFT_SINCE_H */

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The releases of rdma-core that libweft can be built for: each row has the first and the last
 * release, the number in the name of their private interface's symbol version, the number of
 * operations of their struct verbs_context_ops, and in a comment the change. libweft compares all
 * three with the installed libibverbs, because neither number alone tells: 59 to 63 have one
 * symbol version and two tables.
 *
 * The Makefile (which reads these rows as well) and the compiler refuse a release without a row.
 * tests/provider/headers_check holds the rows against rdma-core's own headers.
 */
WEFT_RELEASES(44, 44, 34, 76) /* the first that libweft knows */
WEFT_RELEASES(45, 53, 34, 76) /* struct ibv_qp_ex, part of struct verbs_qp, has three more calls */
WEFT_RELEASES(54, 56, 34, 76) /* ibv_cmd_reg_dmabuf_mr() takes a driver's attributes */
WEFT_RELEASES(57, 58, 57, 76) /* ibv_cmd_get_context() takes file descriptors */
WEFT_RELEASES(59, 61, 59, 79) /* DMA handles; ibv_cmd_create_cq_ex() takes a buffer */
WEFT_RELEASES(62, 63, 59, 81) /* a port's speed, a device memory's dma-buf */
WEFT_RELEASES(64, 64, 64, 83) /* buffers */
WEFT_RELEASES(65, 65, 65, 93) /* completion counters */

/* SPDX-License-Identifier: GPL-2.0 */
/* Completion vectors: the CPU on which a consumer is called. */
#ifndef WEFT_VECTOR_H
#define WEFT_VECTOR_H

struct weft_cq;

void weft_vector_init(struct weft_cq *cq);
void weft_vector_call(struct weft_cq *cq);
void weft_vector_end(struct weft_cq *cq);

#endif /* WEFT_VECTOR_H */

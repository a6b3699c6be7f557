/* SPDX-License-Identifier: GPL-2.0 */
/* On which processor a consumer is called: completion vectors. */
#ifndef WEFT_VECTOR_H
#define WEFT_VECTOR_H

struct weft_cq;

void weft_vector_init(struct weft_cq *cq);
void weft_vector_call(struct weft_cq *cq);
void weft_vector_end(struct weft_cq *cq);

#endif /* WEFT_VECTOR_H */

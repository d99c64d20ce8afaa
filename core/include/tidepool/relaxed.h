/*
 * relaxed.h
 *	  Loads and stores of fields that others may be writing or reading.
 *
 * Relaxed atomics: the field is loaded or stored once and whole, in no order
 * with other fields.  On x86-64 and ARM64 they are plain instructions.
 */
#ifndef TIDEPOOL_RELAXED_H
#define TIDEPOOL_RELAXED_H

#include <stdint.h>

static inline uint8_t
tp_load8(const uint8_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void
tp_store8(uint8_t *field, uint8_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline uint16_t
tp_load16(const uint16_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void
tp_store16(uint16_t *field, uint16_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline uint32_t
tp_load32(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void
tp_store32(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline uint64_t
tp_load64(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void
tp_store64(uint64_t *field, uint64_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline float
tp_load_float(const float *field)
{
	float		value;

	__atomic_load(field, &value, __ATOMIC_RELAXED);
	return value;
}

static inline void
tp_store_float(float *field, float value)
{
	__atomic_store(field, &value, __ATOMIC_RELAXED);
}

#endif							/* TIDEPOOL_RELAXED_H */

/* half.h: float16 (IEEE 754 binary16) and float, for machines without instructions for them. */
#ifndef PFNN_HALF_H
#define PFNN_HALF_H

#include <stdint.h>
#include <string.h>

static inline float pfnn_half_to_float(uint16_t half)
{
    /* move exponent and mantissa into place, then mend the exponent's bias by a product, subnormals included */
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13, scale_bits = (uint32_t)(254 - 15) << 23;
    float value, scale;
    memcpy(&value, &bits, sizeof value);
    memcpy(&scale, &scale_bits, sizeof scale);
    value *= scale;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7c00) == 0x7c00)
        bits |= 0x7f800000; /* infinity and NaN */
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounded to nearest, ties to even; too large becomes infinite. */
static inline uint16_t pfnn_half_from_float(float value)
{
    uint32_t bits, sign;
    memcpy(&bits, &value, sizeof bits);
    sign = (bits >> 16) & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (bits >= 0x477ff000) /* 65520 and above */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) { /* subnormal: adding 0.5 rounds at 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + ((bits >> 13) & 1); /* round to even at bit 13 */
    return (uint16_t)(sign | ((bits - 0x38000000) >> 13));
}

#endif

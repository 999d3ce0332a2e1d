/*
 * decimal.c: correctly rounded decimal numbers.
 *
 * A number is w * 10^q with an integer w. Three ways lead to its double, the cheapest that is certain is taken:
 *   1. w < 2^53 and |q| <= 22: both are exact doubles, so one multiplication or division rounds once (Clinger 1990);
 *   2. w < 2^64: w times 5^q in 128 bits whose error is bounded; the rounding is certain unless the result is
 *      within that bound of half way between two doubles (the idea of Eisel and Lemire, with a two-part table);
 *   3. anything else: long division of big integers.
 */
#include "decimal.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define ROUNDS_ONCE true /* doubles are computed as doubles, not in a wider register */
#else
#define ROUNDS_ONCE false
#endif

#define MOST_EXACT ((uint64_t)1 << 53) /* integers up to it are doubles */

typedef struct wide {
    uint64_t high, low;
} wide;

static wide multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 uint128;
    uint128 product = (uint128)a * b;
    return (wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), other = al * bh + (uint32_t)middle;
    return (wide){ah * bh + (middle >> 32) + (other >> 32), (other << 32) | (uint32_t)low};
#endif
}

static int leading_zeros(uint64_t x) /* x is not 0 */
{
#if defined(__GNUC__)
    return __builtin_clzll(x);
#else
    int n = 0;
    for (int step = 32; step > 0; step /= 2)
        if (!(x >> (64 - step))) {
            x <<= step;
            n += step;
        }
    return n;
#endif
}


/* ---- powers ------------------------------------------------------------------------------- */

static const double exact_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* 5^0 to 5^27, the powers of five that fit in 64 bits */
static const uint64_t fine_fives[] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

/* 5^(27 k) for k = -13 .. 12, shifted until the top bit is set and cut to 128 bits */
enum { STEP = 27, FIRST_STEP = -13, LAST_STEP = 12 };
static const wide coarse_fives[] = {
    {0x8049a4ac0c5811aeu, 0x205b896d777d6278u}, /* 5^-351 */
    {0xcf42894a5dce35eau, 0x52064cac828675b9u}, /* 5^-324 */
    {0xa76c582338ed2621u, 0xaf2af2b80af6f24eu}, /* 5^-297 */
    {0x873e4f75e2224e68u, 0x5a7744a6e804a291u}, /* 5^-270 */
    {0xda7f5bf590966848u, 0xaf39a475506a899eu}, /* 5^-243 */
    {0xb080392cc4349decu, 0xbd8d794d96aacfb3u}, /* 5^-216 */
    {0x8e938662882af53eu, 0x547eb47b7282ee9cu}, /* 5^-189 */
    {0xe65829b3046b0afau, 0x0cb4a5a3112a5112u}, /* 5^-162 */
    {0xba121a4650e4ddebu, 0x92f34d62616ce413u}, /* 5^-135 */
    {0x964e858c91ba2655u, 0x3a6a07f8d510f86fu}, /* 5^-108 */
    {0xf2d56790ab41c2a2u, 0xfae27299423fb9c3u}, /* 5^-81 */
    {0xc428d05aa4751e4cu, 0xaa97e14c3c26b886u}, /* 5^-54 */
    {0x9e74d1b791e07e48u, 0x775ea264cf55347du}, /* 5^-27 */
    {0x8000000000000000u, 0x0000000000000000u}, /* 5^0 */
    {0xcecb8f27f4200f3au, 0x0000000000000000u}, /* 5^27 */
    {0xa70c3c40a64e6c51u, 0x999090b65f67d924u}, /* 5^54 */
    {0x86f0ac99b4e8dafdu, 0x69a028bb3ded71a3u}, /* 5^81 */
    {0xda01ee641a708de9u, 0xe80e6f4820cc9495u}, /* 5^108 */
    {0xb01ae745b101e9e4u, 0x5ec05dcff72e7f8fu}, /* 5^135 */
    {0x8e41ade9fbebc27du, 0x14588f13be847307u}, /* 5^162 */
    {0xe5d3ef282a242e81u, 0x8f1668c8a86da5fau}, /* 5^189 */
    {0xb9a74a0637ce2ee1u, 0x6d953e2bd7173692u}, /* 5^216 */
    {0x95f83d0a1fb69cd9u, 0x4abdaf101564f98eu}, /* 5^243 */
    {0xf24a01a73cf2dccfu, 0xbc633b39673c8cecu}, /* 5^270 */
    {0xc3b8358109e84f07u, 0x0a862f80ec4700c8u}, /* 5^297 */
    {0x9e19db92b4e31ba9u, 0x6c07a2c26a8346d1u}, /* 5^324 */
};

/* floor(q log2(5)) for |q| <= 400; the quotient of integers is that close to log2(5) */
static int log2_of_five(int q)
{
    int64_t scaled = (int64_t)q * 152170;
    return (int)(scaled >= 0 ? scaled / 65536 : -((-scaled + 65535) / 65536));
}

/* floor(e log10(2)) for |e| <= 1100 */
static int log10_of_two(int e)
{
    int64_t scaled = (int64_t)e * 78913;
    return (int)(scaled >= 0 ? scaled / 262144 : -((-scaled + 262143) / 262144));
}

static wide shifted_left(wide x, int bits) /* 0 <= bits < 64 */
{
    if (bits == 0)
        return x;
    return (wide){(x.high << bits) | (x.low >> (64 - bits)), x.low << bits};
}

/*
 * The 128 leading bits of `w` 5^q, top bit set, and `*exponent` such that w 5^q is in [result, result + SLACK)
 * 2^exponent. `*exact` tells that it is the result itself. Wants w > 0 and -351 <= q <= 350.
 */
enum { SLACK = 16 };

static wide times_five_to(uint64_t w, int q, int *exponent, bool *exact)
{
    int step = (q >= 0 ? q : q - (STEP - 1)) / STEP, rest = q - step * STEP, zeros = leading_zeros(w);
    wide power = coarse_fives[step - FIRST_STEP];
    w <<= zeros;

    // 5^q in 128 bits: less than one unit of error from the table and one from the cut, doubled by a shift
    if (rest) {
        uint64_t five = fine_fives[rest];
        int five_zeros = leading_zeros(five);
        five <<= five_zeros;
        wide high = multiply(power.high, five), low = multiply(power.low, five);
        power.low = high.low + low.high;
        power.high = high.high + (power.low < low.high);
        power = shifted_left(power, leading_zeros(power.high));
    }

    // times w: less than 5 units, again doubled by a shift
    wide high = multiply(power.high, w), low = multiply(power.low, w);
    wide product = {high.high, high.low + low.high};
    product.high += product.low < low.high;
    int shift = leading_zeros(product.high);
    product = shifted_left(product, shift);
    product.low |= shift && (low.low >> 63); /* the one bit that a shift takes in */

    *exact = q >= 0 && q <= STEP && low.low << shift == 0;
    *exponent = log2_of_five(q) - 63 - zeros - shift;
    return product;
}


/* ---- decimal to double, 64 bits ----------------------------------------------------------- */

static double assemble(uint64_t mantissa, int exponent) /* mantissa 2^exponent, a normal double, mantissa < 2^54 */
{
    if (mantissa >> 53) { /* rounded up to the next power of two */
        mantissa >>= 1;
        exponent++;
    }
    if (exponent > 971)
        return HUGE_VAL;
    uint64_t bits = ((uint64_t)(exponent + 1075) << 52) | (mantissa & 0xfffffffffffffu);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* w 10^q rounded to `*value`; false where that takes more than 128 bits to tell. */
static bool compose(double *value, uint64_t w, int q)
{
    if (w == 0) {
        *value = 0;
        return true;
    }
    if (ROUNDS_ONCE && w <= MOST_EXACT && q >= -22 && q <= 22) {
        *value = q < 0 ? (double)w / exact_tens[-q] : (double)w * exact_tens[q];
        return true;
    }
    if (q < -326 || q > 308) /* zero, smallest or infinite, or nearly so: not worth a thought here */
        return false;

    int exponent;
    bool exact;
    wide bits = times_five_to(w, q, &exponent, &exact);
    exponent += q + 75;   /* of the 53 leading bits */
    if (exponent < -1074) /* a subnormal number keeps fewer bits */
        return false;

    // 53 bits are kept; the 75 others are compared with one half
    uint64_t mantissa = bits.high >> 11, rest = bits.high & 0x7ff, half = 0x400;
    bool tie = rest == half && bits.low == 0, just_below = rest == half - 1 && bits.low > UINT64_MAX - SLACK;
    if (!exact && (tie || just_below))
        return false;
    bool up = tie ? mantissa & 1 : rest >= half;
    *value = assemble(mantissa + up, exponent);
    return true;
}


/* ---- decimal to double, any number of digits ---------------------------------------------- */

/*
 * 770 digits and one more for "something follows" decide every double (767 are the most that a midpoint has), so
 * numerators stay below 10^771 2^65 and denominators below 5^1150: under 90 limbs.
 */
enum { MOST_DIGITS = 770, LIMBS = 96 };

typedef struct big {
    int size;
    uint32_t limb[LIMBS];
} big;

static void big_multiply_add(big *x, uint32_t factor, uint32_t term)
{
    uint64_t carry = term;
    for (int i = 0; i < x->size; i++) {
        carry += (uint64_t)x->limb[i] * factor;
        x->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && x->size < LIMBS)
        x->limb[x->size++] = (uint32_t)carry;
}

static void big_times_five_to(big *x, int power)
{
    for (; power >= 13; power -= 13)
        big_multiply_add(x, (uint32_t)fine_fives[13], 0);
    big_multiply_add(x, (uint32_t)fine_fives[power], 0);
}

static void big_shift_left(big *x, int bits)
{
    for (; bits >= 31; bits -= 31)
        big_multiply_add(x, (uint32_t)1 << 31, 0);
    big_multiply_add(x, (uint32_t)1 << bits, 0);
}

static int big_bits(const big *x)
{
    return x->size ? 32 * x->size + 32 - leading_zeros(x->limb[x->size - 1]) : 0;
}

static int big_compare(const big *x, const big *y)
{
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    for (int i = x->size - 1; i >= 0; i--)
        if (x->limb[i] != y->limb[i])
            return x->limb[i] < y->limb[i] ? -1 : 1;
    return 0;
}

static void big_subtract(big *x, const big *y) /* x >= y */
{
    uint64_t borrow = 0;
    for (int i = 0; i < x->size; i++) {
        uint64_t difference = (uint64_t)x->limb[i] - (i < y->size ? y->limb[i] : 0) - borrow;
        x->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    while (x->size && x->limb[x->size - 1] == 0)
        x->size--;
}

/* The first 770 significant digits of the number's text as an integer; `*dropped` counts those left out. */
static void big_from_digits(big *x, const char *text, const char *end, int64_t *dropped)
{
    int digits = 0;
    bool more = false;
    x->size = 0;
    *dropped = 0;
    for (; text < end; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text == '.' || (digit == 0 && x->size == 0))
            continue;
        if (digits < MOST_DIGITS) {
            if (x->size == 0)
                x->limb[x->size++] = digit;
            else
                big_multiply_add(x, 10, digit);
            digits++;
        } else {
            more |= digit != 0;
            ++*dropped;
        }
    }
    if (more) { /* one digit more stands for all that follows: only its not being 0 matters */
        big_multiply_add(x, 10, 1);
        --*dropped;
    }
}

/* The digits in [text, end), which may hold a point, times 10^q, by long division. */
static double compose_exactly(const char *text, const char *end, int64_t q)
{
    big numerator, denominator = {1, {1}};
    int64_t dropped;
    big_from_digits(&numerator, text, end, &dropped);
    q += dropped;
    int digits = log10_of_two(big_bits(&numerator)) + 1; /* or one more than there are */
    if (numerator.size == 0 || q + digits < -326)
        return 0;
    if (q + digits > 312)
        return HUGE_VAL;

    // a quotient of 64 or 65 bits
    int power = (int)q;
    if (power >= 0)
        big_times_five_to(&numerator, power);
    else
        big_times_five_to(&denominator, -power);
    int shift = 64 - (big_bits(&numerator) - big_bits(&denominator));
    big_shift_left(shift > 0 ? &numerator : &denominator, shift > 0 ? shift : -shift);

    // bit by bit from the top: the remainder doubles where the divisor would be halved
    big_shift_left(&denominator, 64);
    uint64_t quotient = 0;
    bool top = false;
    for (int bit = 64; bit >= 0; bit--) {
        top |= quotient >> 63;
        quotient <<= 1;
        if (big_compare(&numerator, &denominator) >= 0) {
            big_subtract(&numerator, &denominator);
            quotient |= 1;
        }
        big_multiply_add(&numerator, 2, 0);
    }
    bool sticky = numerator.size != 0;
    int exponent = power - shift;
    if (top) { /* 65 bits */
        sticky |= quotient & 1;
        quotient = (quotient >> 1) | (uint64_t)1 << 63;
        exponent++;
    }

    // keep 53 bits, fewer for subnormal numbers
    int drop = 11;
    if (exponent + drop < -1074)
        drop = -1074 - exponent;
    if (drop > 64)
        return 0;
    uint64_t mantissa = drop == 64 ? 0 : quotient >> drop, half = (uint64_t)1 << (drop - 1);
    uint64_t rest = quotient & (half | (half - 1));
    if (rest > half || (rest == half && (sticky || (mantissa & 1))))
        mantissa++;
    if (mantissa >> 52)
        return assemble(mantissa, exponent + drop);
    return ldexp((double)mantissa, exponent + drop); /* subnormal or zero: exact */
}


/* ---- reading ------------------------------------------------------------------------------ */

static const char *read_exponent(int64_t *exponent, const char *text, const char *end)
{
    const char *p = text + 1; /* after the e */
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *first = p;
    int64_t value = 0;
    for (; p < end && (unsigned)(*p - '0') <= 9; p++)
        if (value < 1000000000000000) /* more digits than any text can hold zeros */
            value = 10 * value + (*p - '0');
    if (p == first)
        return NULL;
    *exponent = negative ? -value : value;
    return p;
}

/* Append the digits from `text` on to `*w` and return what stands behind them. */
static const char *read_digits(uint64_t *w, const char *text, const char *end)
{
    unsigned digit;
    uint64_t value = *w;
    for (; text < end && (digit = (unsigned)(*text - '0')) <= 9; text++)
        value = 10 * value + digit;
    *w = value;
    return text;
}

/* The digits in [text, end) times 10^q where they are too many or the exponent is too large for `compose`. */
static double compose_digits(const char *text, const char *end, int64_t q)
{
    while (text < end && (*text == '0' || *text == '.'))
        text++;
    // of more than 19 digits the first 19 and that plus one mostly agree
    uint64_t w = 0;
    int kept = 0;
    int64_t scale = q;
    for (const char *p = text; p < end; p++) {
        if (*p == '.')
            continue;
        if (kept < 19) {
            w = 10 * w + (unsigned)(*p - '0');
            kept++;
        } else {
            scale++;
        }
    }
    double result, next;
    if (scale >= -400 && scale <= 400 && compose(&result, w, (int)scale)
        && compose(&next, w + (scale != q), (int)scale) && result == next)
        return result;
    return compose_exactly(text, end, q);
}

const char *pfnn_decimal_read(double *value, const char *text, const char *end)
{
    if (text == end)
        return NULL;
    // signs come at random: a sum costs less than a jump that is foreseen half of the time
    bool negative = *text == '-';
    const char *p = text + (negative | (*text == '+'));

    // the digits as one integer, which is right as long as there are not more than 19
    const char *first = p;
    uint64_t w = 0;
    p = read_digits(&w, p, end);
    int64_t digits = p - first, q = 0;
    if (p < end && *p == '.') {
        const char *point = p;
        p = read_digits(&w, p + 1, end);
        q = point + 1 - p;
        digits -= q;
    }
    if (digits == 0)
        return NULL;
    const char *last = p;
    if (p < end && (*p | 0x20) == 'e') {
        int64_t exponent;
        p = read_exponent(&exponent, p, end);
        if (!p)
            return NULL;
        q += exponent;
    }

    double result;
    if (ROUNDS_ONCE && digits <= 19 && w <= MOST_EXACT && q <= 0 && q >= -22) /* nearly all numbers of nearly all files */
        result = (double)w / exact_tens[-q];
    else if (digits <= 19 && q >= -400 && q <= 400 && compose(&result, w, (int)q))
        ;
    else
        result = compose_digits(first, last, q);
    *value = negative ? -result : result;
    return p;
}


/* ---- writing ------------------------------------------------------------------------------ */

/* x > 0 as `digits` decimal digits: x is about the result times 10^*q. */
static uint64_t decompose(double x, int digits, int *q)
{
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);
    exponent -= 53; /* x = mantissa 2^exponent, exactly */

    // 10^(digits - 1) <= x 10^-q < 10^digits: the estimate is right or one too small
    int magnitude = log10_of_two(exponent + 53 - 1);
    for (;; magnitude++) {
        int power = digits - 1 - magnitude, binary;
        bool exact;
        wide bits = times_five_to(mantissa, power, &binary, &exact);
        int below = -(binary + exponent + power) - 64; /* bits of `high` that stand behind the point */
        uint64_t w = bits.high >> below, half = (uint64_t)1 << (below - 1);
        w += (bits.high & half) != 0;
        if (w < (uint64_t)exact_tens[digits]) {
            *q = -power;
            return w;
        }
    }
}

static size_t lay_out(char *text, uint64_t w, int q)
{
    char digits[20];
    int count = 0;
    while (w % 10 == 0) {
        w /= 10;
        q++;
    }
    for (; w; w /= 10)
        digits[count++] = (char)('0' + w % 10); /* the last digit first */

    char *p = text;
    int point = count + q; /* digits before the point */
    if (point > 17 || point < -6) {
        *p++ = digits[--count];
        if (count)
            *p++ = '.';
        while (count)
            *p++ = digits[--count];
        int power = point - 1;
        *p++ = 'e';
        *p++ = power < 0 ? '-' : '+';
        power = power < 0 ? -power : power;
        if (power >= 100)
            *p++ = (char)('0' + power / 100);
        *p++ = (char)('0' + power / 10 % 10);
        *p++ = (char)('0' + power % 10);
        return (size_t)(p - text);
    }
    if (point <= 0)
        *p++ = '0';
    for (int i = 0; i < point; i++)
        *p++ = count ? digits[--count] : '0';
    if (count) {
        *p++ = '.';
        for (int i = point; i < 0; i++)
            *p++ = '0';
        while (count)
            *p++ = digits[--count];
    }
    return (size_t)(p - text);
}

size_t pfnn_decimal_write(char text[PFNN_DECIMAL_SIZE], double value)
{
    char *p = text;
    if (signbit(value))
        *p++ = '-';
    double x = fabs(value);
    if (x == 0) {
        *p++ = '0';
        return (size_t)(p - text);
    }

    // most recordings have at most six decimals: as an integer below 10^15 over 10^6 these are the fewest digits
    double millionths = x * 1e6;
    if (ROUNDS_ONCE && millionths < 1e15) {
        uint64_t w = (uint64_t)(millionths + 0.5);
        if (w && (double)w / 1e6 == x)
            return (size_t)(p - text) + lay_out(p, w, -6);
    }

    // the fewest digits that read back as the same double; 17 always do
    for (int digits = 15;; digits++) {
        int q;
        uint64_t w = decompose(x, digits, &q);
        double back;
        if (digits == 17 || (compose(&back, w, q) && back == x))
            return (size_t)(p - text) + lay_out(p, w, q);
    }
}

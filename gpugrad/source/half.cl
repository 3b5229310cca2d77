/* The conversions between half and float by integer arithmetic, rounded to the nearest even as vstore_half
 * rounds. For CPUs: PoCL's vload_half and vstore_half branch, take 4 to 6 ns an element, and keep a loop from
 * becoming vector instructions; these take 0.25. (Method: F. Giesen, "Half to float done quick", 2012.)
 */
float gg_float(ushort h) {
  uint u = (uint)(h & 0x7fffu) << 13, exponent = h & 0x7c00u;
  uint bias = exponent == 0x7c00u ? 224u << 23 : 112u << 23; /* infinity and NaN have the largest exponent */
  float tiny = as_float(u + (113u << 23)) - as_float(113u << 23);
  return as_float((exponent == 0 ? as_uint(tiny) : u + bias) | (uint)(h & 0x8000u) << 16);
}

ushort gg_half(float v) {
  uint sign = as_uint(v) & 0x80000000u, u = as_uint(v) ^ sign;
  uint normal = (u - (112u << 23) + 0xfffu + ((u >> 13) & 1u)) >> 13;
  uint tiny = as_uint(as_float(u) + 0.5f) - as_uint(0.5f);
  uint large = u > 0x7f800000u ? 0x7fffu : 0x7c00u; /* NaN, infinity */
  return (ushort)((u < (113u << 23) ? tiny : u >= (143u << 23) ? large : normal) | sign >> 16);
}

// Structs, unions and enums.

typedef struct {
  float x;
  int n;
  float w[4];
} P;

//: 8 / 8: int[48], float[8]=0
__kernel void fields(__global P *p, __global float *o) {
  int i = get_global_id(0);
  p[i].n += 3;
  (p + i)->w[i % 4] = 2.0f;
  p[i].x = 3;
  o[i] = p[i].w[1] + (*(p + i)).n;
}

//: 8 / 8: int[48], float[8]=0
__kernel void whole_structs(__global P *p, __global float *o) {
  int i = get_global_id(0);
  P q = p[i];
  q.n = i;
  o[i] = q.w[2];
  p[i] = q;
  P r = {1.0f, 2, {3, 4}}, s = {.n = 5, .w = {[1] = 6}};
  o[i] += r.w[1] + s.w[1] + s.n;
}

struct Tagged {
  char c;
  double d;
  short s[3];
};

//: 8 / 8: int[64]
__kernel void struct_with_holes(__global struct Tagged *t) {
  int i = get_global_id(0);
  t[i].c = 1;
  t[i].d = 2.5;
  t[i].s[i % 3] += 4;
}

typedef union {
  uint u;
  float f;
} Bits;

//: 8 / 8: float[8]
__kernel void unions(__global Bits *b) {
  int i = get_global_id(0);
  Bits v;
  v.f = b[i].f * 2;
  v.u ^= 1;
  b[i].u = v.u + 1;
  b[i].f += 1.0f;
}

typedef struct {
  float4 v;
  struct {
    int a, b;
  } in;
} Nested;

//: 8 / 8: int[64]
__kernel void nested_structs(__global Nested *p) {
  int i = get_global_id(0);
  p[i].in.b = p[i].in.a + 1;
  p[i].v.x = 2.0f;
  p[i].v.yz = p[i].v.xw;
}

//: 8 / 8: float[8]
__kernel void structs_in_local_memory(__global float *a) {
  __local P t[8];
  int l = get_local_id(0);
  t[l].x = a[l];
  t[l].w[3] = 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  a[l] = t[7 - l].x * t[(l + 1) % 8].w[3];
}

float total(P p) { return p.x + p.w[0]; }
P made(float x) {
  P p = {x, 1, {x, x, x, x}};
  return p;
}

//: 8 / 8: float[8]
__kernel void structs_by_value(__global float *a) {
  int i = get_global_id(0);
  P p = made(a[i]);
  a[i] = total(p) + made(2.0f).w[1];
}

enum { ROWS = 2, COLS, AREA = ROWS * COLS };

//: 8 / 8: float[8]
__kernel void enumerators(__global float *a) {
  const int width = 4;
  float t[AREA + 2], u[width];
  int i = get_global_id(0);
  t[i % AREA] = a[i];
  u[COLS] = t[i % AREA];
  a[i] = u[COLS] * AREA;
}

typedef struct {
  __global float *data;
  int n;
} Span;

float span_start(Span *s) { return s->data[s->n]; }

//: 8 / 8: float[8], float[8]=0
__kernel void pointer_in_a_struct(__global float *a, __global float *o) {
  Span s = {a, 1};
  s.n = get_global_id(0);
  s.data[s.n] += 1.0f;
  o[s.n] = span_start(&s);
}

typedef struct {
  uchar r, g, b;
} Pixel;

//: 8 / 8: uchar[24]
__kernel void structs_of_three_bytes(__global Pixel *p) {
  int i = get_global_id(0);
  Pixel q = p[i];
  q.r += q.g;
  p[i] = q;
}

typedef struct __attribute__((packed)) {
  char c;
  float x, w[2];
  float4 v;
} Packed;

//: 8 / 8: uchar[232], float[8]=0
__kernel void packed_structs(__global Packed *p, __global float *o) {
  int i = get_global_id(0);
  p[i].x = i;
  p[i].w[i & 1] = 2 + i;
  p[i].w[1 - (i & 1)] = 3;
  p[i].v = (float4)(i, 1, 2, 3);
  p[i].v.yz += 1.5f;
  p[i].v.w++;
  o[i] = p[i].x + p[i].w[0] + p[i].v.y + p[i].v.w;
}

typedef struct {
  __global float *to;
  char n;
  float x;
} Node;

//: 8 / 8: float[8], float[8]=0
__kernel void pointers_kept_in_local_memory(__global float *a, __global float *o) {
  int i = get_global_id(0);
  __local Node nodes[8];
  nodes[i].to = i & 1 ? a : o;
  nodes[i].n = i;
  nodes[i].x = a[i];
  nodes[i].to += 1;
  nodes[i].to--;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  Node other = nodes[7 - i];
  other.to[i] = other.n + other.x;
}

/* What an instrumented kernel carries with it: where events go, and the checks before each access.

   A work-item's record (gg_t) holds its slots for events, how many it wanted to write, and the address and
   length in bytes of every buffer. An event is four words:
     0: site | buffer << 14 | component << 24 | outside << 28 | misaligned << 29 | other fault << 30
     1: byte offset in the buffer (or an index)      2, 3: the value's bits
   With GG_FAULTS_ONLY only events with a fault are written. */

#define GG_OUTSIDE (1u << 28)
#define GG_SKEW (1u << 29)
#define GG_FAULT (1u << 30)

typedef struct {
  __global uint4 *events;
  volatile __global uint *stop;  /* set by the first work-item that runs out of fuel */
  uint n, room, fuel, did;       /* did: floating-point operations */
  bool dead, ok;                 /* dead: the group could not agree; it touches nothing any more */
  __local long *first;           /* ballot: what the first work-item says, and whether another disagrees */
  __local int *split;
  int where;                     /* byte offset of the latest __constant read */
  ulong base[GG_BUFFERS], length[GG_BUFFERS];
  char space[GG_BUFFERS];        /* -1: global, -2: local, 0: constant */
#ifdef GG_OBJECTS
  ulong object[GG_OBJECTS], extent[GG_OBJECTS];  /* private variables: address, and length in bytes */
  ulong spare[GG_SPARE];         /* where pointers lead that lead to none of them */
#endif
} gg_t;

void gg_buffer(gg_t *t, int b, int space, ulong base, ulong length) {
  t->space[b] = space;
  t->base[b] = base;
  t->length[b] = length;
}

void gg_put(gg_t *t, uint head, int offset, ulong bits) {
#ifdef GG_FAULTS_ONLY
  if (!(head & (GG_OUTSIDE | GG_SKEW | GG_FAULT))) return;
#endif
  if (t->dead) return;
  if (t->n < t->room) t->events[t->n] = (uint4)(head, (uint)offset, (uint)bits, (uint)(bits >> 32));
  t->n++;
}

/* May the `size` bytes at p be touched? A buffer b < 0 is not known when compiling: find it by its address,
   among those of that space. */
bool gg_where(gg_t *t, int b, uint site, ulong p, uint size, uint align, uint *head, int *offset) {
  for (int i = 0; b < 0 && i < GG_BUFFERS; i++)
    if (t->space[i] == b && p >= t->base[i] && p < t->base[i] + t->length[i]) b = i;
  if (b < 0) {
    *head = site | (uint)GG_BUFFERS << 14 | GG_OUTSIDE;
    *offset = 0;
    return false;
  }
  long o = (long)(p - t->base[b]);
  bool inside = o >= 0 && (ulong)o + size <= t->length[b];
  bool skew = (p & (align - 1)) != 0;
  *head = site | (uint)b << 14 | (inside ? 0u : GG_OUTSIDE) | (skew ? GG_SKEW : 0u);
  *offset = (int)clamp(o, (long)INT_MIN, (long)INT_MAX);
  return inside && !skew && !t->dead;
}

/* A condition that a barrier depends on: the whole group must give the same answer. If it does not, the group
   is dead: it records nothing more, touches no memory, and from here on every condition answers 0. Where only
   faults count, so it is, without a word, when some work-item of the launch has run out of fuel. */
long gg_agree(gg_t *t, uint site, long answer) {
  bool split = false, over = false;
  if (t->split) {
    if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0) { *t->first = answer; *t->split = 0; }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (*t->first != answer) atomic_or(t->split, 1);
#ifdef GG_FAULTS_ONLY
    if (get_local_id(0) + get_local_id(1) + get_local_id(2) == 0 && atomic_or(t->stop, 0u)) atomic_or(t->split, 2);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    over = (*t->split & 2) != 0;
    split = *t->split == 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  gg_put(t, split ? site | GG_FAULT : site, 0, (ulong)answer);
  if (split || over) t->dead = true;
  return t->dead ? 0 : answer;
}

/* Every turn of a loop burns fuel, so that an endless loop ends. Out of fuel, the last slot says so. One work-item
   out of fuel is enough where only faults count, and for those whose slots are full, if nothing is voted on: now and
   then they look whether it is so. Where only faults count, a loop that is voted on costs more, as each of its turns
   takes so much longer (its groups look when they vote). */
bool gg_turn(gg_t *t, uint site, uint cost) {
  if (t->dead) return false;
#ifdef GG_FAULTS_ONLY
  if (cost == 1 && t->fuel % 1024 == 0 && *t->stop) return false;
#else
  if (!t->split && t->n + 1 >= t->room && t->fuel % 1024 == 512 && *t->stop) return false;
#endif
  if (t->fuel >= cost) { t->fuel -= cost; return true; }
  atomic_or(t->stop, 1u);
  uint n = t->n;
  if (t->room) t->n = min(n, t->room - 1);
  gg_put(t, site | GG_FAULT, 0, 0);
  t->n = n + 1;
  return false;
}

/* So many floating-point operations. */
void gg_did(gg_t *t, uint n) {
  if (!t->dead) t->did += n;
}

void gg_barrier(gg_t *t, uint site, uint flags) {
  gg_put(t, site, 0, ((flags & CLK_LOCAL_MEM_FENCE) ? 1 : 0) | ((flags & CLK_GLOBAL_MEM_FENCE) ? 2 : 0));
}

/* tile[y][x]: is x within its own row? */
long gg_row(gg_t *t, uint site, long i, int n) {
  if (i < 0 || i >= n) gg_put(t, site | GG_OUTSIDE, (int)clamp(i, (long)INT_MIN, (long)INT_MAX), n);
  return i;
}

/* An index of a private array; outside, element 0 is used instead. */
long gg_private(gg_t *t, uint site, long i, int n) {
  if (i >= 0 && i < n) return i;
  gg_put(t, site | GG_OUTSIDE, (int)clamp(i, (long)INT_MIN, (long)INT_MAX), n);
  return 0;
}

/* An index of __constant memory, which is read in place, not through a pointer; outside, element 0 is read. */
long gg_constant(gg_t *t, long i, long n, uint size) {
  t->ok = i >= 0 && i < n;
  t->where = (int)clamp(i * size, (long)INT_MIN, (long)INT_MAX);
  return t->ok ? i : 0;
}

#ifdef GG_OBJECTS
void gg_object(gg_t *t, int k, ulong address, ulong bytes) {
  t->object[k] = address;
  t->extent[k] = bytes;
}

/* Where is element i of a pointer into private memory, if it and those behind it, `lanes` in all, lie in object b (-3: in
   any of them)? If they do not, the answer is a spare place, which then holds 0. */
ulong gg_reach(gg_t *t, int b, uint site, ulong p, long i, uint size, uint lanes) {
  ulong at = p + (ulong)i * size, bytes = size * lanes;
  for (int k = 0; k < GG_OBJECTS; k++)
    if ((b < 0 || k == b) && at - t->object[k] < t->extent[k] && bytes <= t->extent[k] - (at - t->object[k])) return at;
  if (b >= 0 && t->extent[b] == 0) return at;  /* a jump went past its declaration: nobody knows where it lies */
  long n = b < 0 ? 0 : (long)(t->extent[b] / size), o = b < 0 ? i * (long)size : (long)(at - t->object[b]);
  long e = o < 0 ? (o - (long)size + 1) / (long)size : max((o + (long)size - 1) / (long)size, n);  /* the first outside */
  gg_put(t, site | GG_OUTSIDE, (int)clamp(e, (long)INT_MIN, (long)INT_MAX), n);
  for (int k = 0; k < 8 * GG_SPARE; k++) ((uchar *)t->spare)[k] = 0;  /* of whatever type it is read next */
  return (ulong)t->spare;
}
#endif

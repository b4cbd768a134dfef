/*
 * Jump consistent hash (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014): every bucket gets the same
 * part of all keys, and one bucket more moves no key but into the new one. Where a tenant's data lies depends on it: neither the
 * numbers nor the hash of a text may ever change.
 */

const MULTIPLIER = 2862933555777941757n;
const TWO_31 = 2 ** 31;

/**
 * The bucket of a key.
 * @param key - 64 bits.
 * @param buckets - how many there are, at least 1.
 */
export function jump(key: bigint, buckets: number): number {
  let state = BigInt.asUintN(64, key);
  let bucket = 0;
  for (let next = 0; next < buckets; ) {
    bucket = next;
    state = BigInt.asUintN(64, state * MULTIPLIER + 1n);
    next = Math.floor((bucket + 1) * (TWO_31 / (Number(state >> 33n) + 1)));
  }
  return bucket;
}

/** The end of MurmurHash3: every bit of the input moves every bit of the outcome. */
function mixed(hash: number): number {
  let bits = hash;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Two hashes of 32 bits with factors of their own: 64-bit products of BigInts would take 20 times as long. */
function hashOf(text: string): bigint {
  let high = 0x811c9dc5;
  let low = 0x9747b28c;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0x5bd1e995);
    low ^= low >>> 15;
  }
  return (BigInt(mixed(high)) << 32n) | BigInt(mixed(low ^ text.length));
}

/**
 * The bucket of a name.
 * @param name - of a tenant, a group or anything else.
 * @param buckets - how many there are, at least 1.
 */
export const jumpHash = (name: string, buckets: number): number =>
  buckets === 1 ? 0 : jump(hashOf(name), buckets);

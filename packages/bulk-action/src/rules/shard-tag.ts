/*
 * The hash tag of a shard decides which master of a Redis Cluster serves it. Plain numbers fall where chance wants: `{0}`, `{1}` and `{2}`
 * lie on two of three masters. So each shard but the first has a part of the slots of its own, and its number gets a suffix until it
 * falls there. The first is always `{0}`: there an engine looks how many shards the data has.
 */

const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

/**
 * The slot of a hash tag in a Redis Cluster: CRC-16/XMODEM.
 * @param text - ASCII.
 */
export function slotOf(text: string): number {
  let crc = 0;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}

/**
 * What stands in braces in all keys of a shard. Where the data lies depends on it: it may never change.
 * @param shard - 0 to shards − 1.
 * @param shards - how many there are.
 */
export function shardTag(shard: number, shards: number): string {
  if (shard === 0) return '0';
  const partOf = (tag: string) => Math.floor((slotOf(tag) * shards) / SLOTS);
  const wanted = (partOf('0') + shard) % shards;
  let tag = String(shard);
  for (let suffix = 1; partOf(tag) !== wanted; suffix++) tag = `${shard}.${suffix}`;
  return tag;
}

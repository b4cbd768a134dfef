/*
 * Each shard counts its own fencing tokens. Outside they carry their shard, so that the token of one lease is worth nothing for
 * another one, whichever shard that is in.
 */

/** No lease has it. */
const NOBODYS_TOKEN = 0;

/**
 * A token as all others see it.
 * @param token - as the shard counts.
 * @param shards - how many there are.
 * @param shard - which of them gave it.
 */
export const outerToken = (token: number, shards: number, shard: number): number => token * shards + shard;

/**
 * A token as the shard counts.
 * @param token - as all others see it.
 * @param shards - how many there are.
 * @param shard - where it is to be used.
 * @returns one that nobody has, when another shard gave it.
 */
export const shardToken = (token: number, shards: number, shard: number): number =>
  token % shards === shard ? (token - shard) / shards : NOBODYS_TOKEN;

/**
 * Where Redis is: one of `url`, `host` and `port`, `nodes` or `client`; and how the engine uses it. In words of its own, so that
 * whoever keeps jobs in memory needs no Redis package, not even for its types.
 */
export interface RedisLocation {
  /** `redis://[user:password@]host:port/db`, or `rediss://` for TLS. */
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly db?: number | undefined;
  /** Some nodes of a Redis Cluster. */
  readonly nodes?: readonly { readonly host: string; readonly port: number }[] | undefined;
  /** An ioredis client whose address and credentials are used. It stays the caller's: it is never called or closed. */
  readonly client?: object | undefined;
  /** What all keys begin with (`'bulk-action:'`); stands before the hash tag. */
  readonly keyPrefix?: string | undefined;
  /** Shown in CLIENT LIST (`'bulk-action'`). */
  readonly connectionName?: string | undefined;
  /** How long one call may take, repeats after a lost connection included (2000). */
  readonly callTimeoutMs?: number | undefined;
}

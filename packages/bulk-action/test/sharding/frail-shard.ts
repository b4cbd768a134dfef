import { ERRORS } from '../../src/errors.js';
import type { BulkShard } from '../../src/shard-port.js';

/** works; down: nothing arrives; mute: all is done and no answer comes; hangs: nobody says anything. */
export type Mode = 'works' | 'down' | 'mute' | 'hangs';

/** A shard behind a bad network. */
export class FrailShard {
  mode: Mode = 'works';
  /** Calls that were made while it did not work. */
  refused = 0;
  readonly store: BulkShard;

  constructor(inner: BulkShard) {
    const ports = Object.entries(inner).map(([name, port]) =>
      name === 'wakeUps' ? [name, port] : [name, this.#wrapped(port as Port)],
    );
    this.store = {
      ...(Object.fromEntries(ports) as BulkShard),
      start: () => inner.start(),
      stop: () => inner.stop(),
    };
  }

  #wrapped(port: Port): Port {
    return Object.fromEntries(
      Object.entries(port).map(([name, call]) => [
        name,
        async (...args: readonly unknown[]) => {
          if (this.mode === 'works') return call(...args);
          this.refused += 1;
          if (this.mode === 'hangs') return new Promise(() => {});
          if (this.mode === 'mute') await call(...args);
          throw ERRORS.create('BACKEND_UNAVAILABLE', { reason: 'the network is down' });
        },
      ]),
    );
  }
}

type Port = Record<string, (...args: readonly unknown[]) => Promise<unknown>>;

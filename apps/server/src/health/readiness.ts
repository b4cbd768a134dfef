import type { HealthBody, HealthCheck } from '@millrace/contract';
import { LATE, toWorkError, within } from '@millrace/foundation';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** How long a backend may take to answer. */
const CHECK_MS = 1_000;
/** However many ask, the backends are asked once in this time. */
const FRESH_MS = 500;

/** Something that a server needs. */
interface Backend {
  readonly name: string;
  /** Throws with what is wrong. */
  check(): Promise<void>;
}

/** Knows whether this process can work. */
@Injectable()
export class Readiness {
  readonly #parts: ServerParts;
  readonly #backends: readonly Backend[];
  readonly #badSince = new Map<string, Date>();
  #look: { readonly at: number; readonly checks: Promise<readonly HealthCheck[]> } | undefined;

  /**
   * Called by Nest.
   * @param parts - of the server.
   */
  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
    this.#backends = [{ name: 'database', check: async () => void (await parts.database.query('SELECT 1')) }];
  }

  /** Looks at everything that this process needs. */
  async look(): Promise<HealthBody> {
    const { clock, draining } = this.#parts;
    const now = clock.monotonicMs();
    if (!this.#look || now - this.#look.at >= FRESH_MS)
      this.#look = { at: now, checks: Promise.all(this.#backends.map((backend) => this.#checked(backend))) };
    const stopping = this.#noted(
      'stopping',
      draining.isDraining ? 'This instance is about to stop' : undefined,
    );
    const checks = [...(await this.#look.checks), ...(draining.isDraining ? [stopping] : [])];
    return { ok: checks.every(({ ok }) => ok), checks };
  }

  async #checked(backend: Backend): Promise<HealthCheck> {
    try {
      const answer = await within(this.#parts.clock, CHECK_MS, backend.check());
      return this.#noted(backend.name, answer === LATE ? `No answer within ${CHECK_MS} ms` : undefined);
    } catch (error) {
      return this.#noted(backend.name, toWorkError(error).message);
    }
  }

  #noted(name: string, message: string | undefined): HealthCheck {
    if (message === undefined) this.#badSince.delete(name);
    else if (!this.#badSince.has(name)) this.#badSince.set(name, new Date(this.#parts.clock.now()));
    const since = this.#badSince.get(name)?.toISOString() ?? null;
    return { name, ok: message === undefined, message: message ?? null, since };
  }
}

import type { HealthBody, HealthCheck } from '@millrace/contract';
import { TIMED_OUT, toWorkError, withDeadline } from '@millrace/foundation';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { type Backend, CHECK_MS, databaseBackend, redisBackend } from './backends.js';

/** However many ask, the backends are asked once in this time. */
const FRESH_MS = 500;

/** Between `//` and `@` in an address. */
const CREDENTIALS = /\/\/[^\s/@]*@/g;

/** Knows whether this process can work. */
@Injectable()
export class Readiness implements OnApplicationShutdown {
  readonly #parts: ServerParts;
  readonly #backends: readonly Backend[];
  readonly #underWay = new Map<Backend, Promise<string | undefined>>();
  readonly #badSince = new Map<string, Date>();
  #look: { readonly at: number; readonly checks: Promise<readonly HealthCheck[]> } | undefined;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
    const { redisUrl } = parts.config;
    this.#backends = [
      databaseBackend(parts.database),
      ...(redisUrl === undefined ? [] : [redisBackend(redisUrl)]),
    ];
  }

  /** Looks at everything that this process needs; takes a second at the longest, whatever the backends do. */
  async look(): Promise<HealthBody> {
    const { clock, draining } = this.#parts;
    const now = clock.monotonicMs();
    if (!this.#look || now - this.#look.at >= FRESH_MS)
      this.#look = { at: now, checks: Promise.all(this.#backends.map((backend) => this.#checked(backend))) };
    const backends = await this.#look.checks;
    const checks = draining.isDraining
      ? [...backends, this.#noted('stopping', { wrong: 'This instance is about to stop' })]
      : backends;
    return { ok: checks.every(({ ok }) => ok), checks: [...checks] };
  }

  /** Runs when nobody can ask any more. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.allSettled(this.#backends.map((backend) => backend.stop?.()));
  }

  async #checked(backend: Backend): Promise<HealthCheck> {
    const { name } = backend;
    try {
      const answer = await withDeadline(this.#parts.clock, CHECK_MS, this.#ask(backend));
      if (answer === TIMED_OUT) return this.#noted(name, { wrong: `No answer within ${CHECK_MS} ms` });
      return this.#noted(name, { note: answer });
    } catch (error) {
      return this.#noted(name, { wrong: toWorkError(error).message.replaceAll(CREDENTIALS, '//***@') });
    }
  }

  /** One that hangs is asked once: questions that pile up would take the connections that work needs. */
  #ask(backend: Backend): Promise<string | undefined> {
    let asked = this.#underWay.get(backend);
    if (!asked) {
      asked = backend.check().finally(() => this.#underWay.delete(backend));
      this.#underWay.set(backend, asked);
    }
    return asked;
  }

  #noted(name: string, { wrong, note }: { wrong?: string; note?: string | undefined }): HealthCheck {
    const { clock, log } = this.#parts;
    const isBad = wrong !== undefined;
    if (isBad && !this.#badSince.has(name)) {
      this.#badSince.set(name, new Date(clock.now()));
      log.warn({ check: name, reason: wrong }, 'This instance is not ready');
    } else if (!isBad && this.#badSince.delete(name)) log.info({ check: name }, 'It is well again');
    const since = this.#badSince.get(name)?.toISOString() ?? null;
    return { name, ok: !isBad, message: wrong ?? note ?? null, since };
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CommandInput } from '../../src/model.js';
import type { OperationHandle } from '../../src/orchestrator.js';
import { SCHEMA } from '../open-store.js';

const PROGRAM = fileURLToPath(new URL('./fixtures/instance.mjs', import.meta.url));

/** What a submit in another process came to. */
export interface Reply {
  readonly handle?: OperationHandle;
  readonly code?: string;
  readonly status?: number;
}

/** An instance in a process of its own. */
export class InstanceProcess implements Disposable {
  /** Business keys of the commands whose handler ran there. */
  readonly ran: string[] = [];
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, (reply: Reply) => void>();
  #asks = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = once(child, 'exit').then(([code]) => code as number | null);
    child.on('message', (message: Reply & { ask?: number; ran?: string }) => {
      if (message.ran !== undefined) this.ran.push(message.ran);
      if (message.ask !== undefined) this.#asked.get(message.ask)?.(message);
    });
  }

  /** Starts one; it works when this resolves. */
  static async start(url: string, options: object = {}): Promise<InstanceProcess> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ url, schema: SCHEMA, options })], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const instance = new InstanceProcess(child);
    const [first] = (await Promise.race([
      once(child, 'message'),
      instance.exited.then((code) => Promise.reject(new Error(`the instance ended with ${code}`))),
    ])) as [{ up?: boolean }];
    if (!first.up) throw new Error(`expected the instance to be up, got ${JSON.stringify(first)}`);
    return instance;
  }

  /** Submits a command there. */
  submit(command: CommandInput, budgetMs?: number): Promise<Reply> {
    const ask = ++this.#asks;
    return new Promise((resolve) => {
      this.#asked.set(ask, resolve);
      this.#child.send({ ask, command, budgetMs });
    });
  }

  /** Tells it to stop, as an operator would. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

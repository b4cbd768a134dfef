import { taskManagerConfigFromEnvironment } from '@millrace/runtime';
import { ChatService, chatRuntimeFromEnvironment, DemoChatRuntime } from '@millrace/runtime/chat';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { gracePlan } from '../compose/grace-plan.js';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** The part of the time for work that turns get which have to be told to stop. */
const ABORT_SHARE = 0.1;
const ABORT_MAX_MS = 1_000;

/** Chat in this process: its sessions and turns end with it. */
@Injectable()
export class ChatHost implements OnApplicationBootstrap, OnModuleDestroy {
  readonly chat: ChatService;
  /** Whether what answers is the built-in one, which nobody pays for. */
  readonly isBuiltIn: boolean;

  /**
   * @param parts - of the server; what answers is the application's, or what the environment names.
   * @throws MillraceError `ENVIRONMENT_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(@Inject(PARTS) { app, config, clock, log }: ServerParts) {
    const { workMs } = gracePlan(config.gracePeriodMs);
    const abortGraceMs = Math.min(ABORT_MAX_MS, Math.floor(workMs * ABORT_SHARE));
    const runtime = app.chat ?? chatRuntimeFromEnvironment(process.env, { clock });
    this.isBuiltIn = runtime instanceof DemoChatRuntime;
    this.chat = new ChatService({
      runtime,
      tasks: {
        ...taskManagerConfigFromEnvironment(process.env),
        stopGraceMs: workMs - abortGraceMs,
        abortGraceMs,
        ...config.chat,
      },
      clock,
      log: log.child({ part: 'chat' }),
    });
  }

  /** Starts answering. */
  async onApplicationBootstrap(): Promise<void> {
    await this.chat.start();
  }

  /** Lets turns end, and ends those that do not. */
  async onModuleDestroy(): Promise<void> {
    await this.chat.stop();
  }
}

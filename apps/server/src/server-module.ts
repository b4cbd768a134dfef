import { type DynamicModule, Module, type Provider, type Type } from '@nestjs/common';
import { engineModules } from './compose/engines.js';
import { PARTS, type ServerParts } from './compose/parts.js';
import { HealthController } from './health/health-controller.js';
import { Readiness } from './health/readiness.js';
import { LastAnswers } from './http/last-answers.js';
import { CallerController } from './security/caller-controller.js';

/** The root of the application. */
@Module({})
export class ServerModule {
  /**
   * Everything that a role serves.
   * @param parts - see ServerParts.
   */
  static register(parts: ServerParts): DynamicModule {
    const isWorker = parts.config.role === 'worker';
    return {
      module: ServerModule,
      global: true,
      imports: engineModules(parts),
      controllers: isWorker ? [...EVERYWHERE] : [...EVERYWHERE, ...API],
      // By a function: Nest writes out what it is given as a value.
      providers: [{ provide: PARTS, useFactory: () => parts }, ...PROVIDERS],
      exports: [PARTS],
    };
  }
}

/** Served by every role: what those who watch over processes ask for. */
const EVERYWHERE: readonly Type[] = [HealthController];

/** Served by instances that answer requests. */
const API: readonly Type[] = [CallerController];

const PROVIDERS: readonly Provider[] = [Readiness, LastAnswers];

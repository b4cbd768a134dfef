import type { AppServices } from '../define-app.js';
import { ERRORS } from '../errors.js';

/** The services that an application's handlers use, before there are any. */
export interface LateServices {
  readonly services: AppServices;
  /** Gives them; once. */
  provide(services: AppServices): void;
}

/**
 * Makes services that an application can take apart and keep while it is being defined, and use when the server has started.
 */
export function lateServices(): LateServices {
  let provided: AppServices | undefined;
  const late = <K extends keyof AppServices>(service: K): AppServices[K] =>
    new Proxy({} as AppServices[K], {
      get(_, member) {
        // Whoever awaits or prints it must not be refused.
        if (typeof member === 'symbol' || member === 'then') return undefined;
        const target = provided?.[service];
        if (!target) throw ERRORS.create('SERVICE_NOT_READY', { service });
        const value: unknown = Reflect.get(target, member, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return {
    services: Object.freeze({
      bulk: late('bulk'),
      pusher: late('pusher'),
      orchestrator: late('orchestrator'),
    }),
    provide: (services) => {
      provided = services;
    },
  };
}

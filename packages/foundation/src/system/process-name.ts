import { hostname } from 'node:os';

/**
 * Names this process and no other one, also not a later one with the same pid; the same however often it is asked.
 */
export const processName = (): string =>
  `${hostname()}-${process.pid}-${Math.round(performance.timeOrigin).toString(36)}`;

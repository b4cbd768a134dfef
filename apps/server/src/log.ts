import type { Writable } from 'node:stream';
import type { LevelledLogger } from '@millrace/foundation';
import type { LoggerService } from '@nestjs/common';
import { type Logger as Pino, pino } from 'pino';

/** Shorter ones are found in too many innocent places. */
const SECRET_CHARACTERS_MIN = 6;

/**
 * Makes what takes secrets out of a text that somebody will read.
 * @param secrets - texts that must never be seen; very short ones stay.
 */
export function secretHider(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets
    .filter((secret) => secret.length >= SECRET_CHARACTERS_MIN)
    // A secret with a quote in it stands otherwise in a line of JSON.
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)])
    // One may be the beginning of another, whose rest would stay.
    .sort((a, b) => b.length - a.length);
  return (text) => hidden.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
}

/** How a log is written. */
export interface LogOptions {
  /** What is below it is left out. */
  readonly level: string;
  /** Texts that must never be seen. */
  readonly secrets: readonly string[];
  readonly destination: Pick<Writable, 'write'>;
  /** Turns a line of JSON into what is written instead, line break included. */
  readonly shown?: ((line: string) => string) | undefined;
}

/** Makes the log of a server: lines of JSON, without any of its secrets, wherever they come from. */
export function createLog({ level, secrets, destination, shown = (line) => line }: LogOptions): Pino {
  const hide = secretHider(secrets);
  const write = (line: string) => destination.write(shown(hide(line)));
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime }, { write });
}

/** The log as the parts write to it. */
export function partLog(log: Pino): LevelledLogger {
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
    child: (fields) => partLog(log.child(fields)),
    isLevelEnabled: (level) => log.isLevelEnabled(level),
  };
}

/**
 * The log as Nest writes to it. What Nest says while it starts (each module, each route) is for whoever debugs.
 */
export function nestLog(log: Pino): LoggerService {
  const line = (message: unknown, rest: readonly unknown[]): [object, string] => {
    const context = rest.at(-1);
    const fields = typeof context === 'string' ? { context } : {};
    if (typeof message !== 'object' || message === null) return [fields, String(message)];
    const { message: text, ...more } = message as { message?: unknown };
    return [{ ...fields, ...more }, String(text ?? '')];
  };
  return {
    log: (message, ...rest) => log.debug(...line(message, rest)),
    debug: (message, ...rest) => log.debug(...line(message, rest)),
    verbose: (message, ...rest) => log.trace(...line(message, rest)),
    warn: (message, ...rest) => log.warn(...line(message, rest)),
    error: (message, ...rest) => log.error(...line(message, rest)),
    fatal: (message, ...rest) => log.fatal(...line(message, rest)),
  };
}

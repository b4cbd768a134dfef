import { resolveBulkActionConfig } from '@millrace/bulk-action';
import { nearestKey, silentLogger, toWorkError } from '@millrace/foundation';
import { ATTEMPT_DEFAULTS, ORCHESTRATOR_DEFAULTS, resolveOrchestratorOptions } from '@millrace/orchestrator';
import { OUTBOX_DEFAULTS, resolveOutboxOptions } from '@millrace/outbox';
import { resolveTaskManagerConfig } from '@millrace/runtime';
import { databaseOf } from '../compose/open-database.js';
import type { ServerConfig } from './model.js';
import { unknownProblem } from './read-environment.js';
import type { SECTIONS } from './settings.js';

type Section = (typeof SECTIONS)[number];
type Given = Readonly<Record<string, unknown>>;

/** What the server gives to the parts itself: no file can set it. */
const OWN = ['clock', 'logger', 'schema', 'gracePeriodMs'];
const settable = (defaults: object, ...more: string[]): readonly string[] =>
  [...Object.keys(defaults), ...more].filter((key) => !OWN.includes(key));

const OUTBOX_KEYS = settable(OUTBOX_DEFAULTS, 'heartbeatMs');
const ORCHESTRATOR_KEYS = settable(ORCHESTRATOR_DEFAULTS, 'heartbeatMs', 'tries');

/** Only its shape is looked at. */
const ANY_EXECUTOR = { execute: () => {}, getState: () => {}, getOutcome: () => {} };
const ANY_STORE = { runs: {}, repairs: {}, views: {}, notices: {} };

/** Each section, checked by the package it is for. */
const CHECKS: Readonly<Record<Section, (section: Given, config: ServerConfig) => void>> = {
  bulk: (section) => resolveBulkActionConfig(section),
  outbox: (section, config) => {
    requireKnown(section, OUTBOX_KEYS);
    // Nothing is opened: this one is thrown away.
    const database = databaseOf(config, silentLogger);
    resolveOutboxOptions({ ...section, ...(config.role === 'api' && { poll: false }), database });
  },
  orchestrator: (section) => {
    requireKnown(section, ORCHESTRATOR_KEYS);
    const { tries = {}, ...rest } = section;
    requireKnown(tries as Given, Object.keys(ATTEMPT_DEFAULTS));
    resolveOrchestratorOptions({ ...rest, executor: ANY_EXECUTOR, store: ANY_STORE } as never);
  },
  chat: (section) => resolveTaskManagerConfig(section),
};

/**
 * Lets each package check its section of the settings.
 * @returns what cannot be used, one sentence each.
 */
export function sectionProblems(config: ServerConfig, originOf: (section: string) => string): string[] {
  return Object.entries(CHECKS).flatMap(([section, check]) => {
    try {
      check(config[section as Section], config);
      return [];
    } catch (error) {
      return [`${originOf(section)}: ${toWorkError(error).message}`];
    }
  });
}

function requireKnown(section: Given, known: readonly string[]): void {
  const unknown = Object.keys(section).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new TypeError(unknownProblem(unknown, nearestKey(unknown, known)));
}

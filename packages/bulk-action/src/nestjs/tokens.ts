import type { Abstract, InjectionToken, Type } from '@nestjs/common';
import { Inject } from '@nestjs/common';

/** Injection token of the ResolvedBulkActionConfig of an engine. */
export const BULK_ACTION_CONFIG = Symbol('BULK_ACTION_CONFIG');

/**
 * Injection token under which any module may provide a JobProcessor, or a list of them: the engine finds all of them. The same
 * as `registerProcessors`, for processors that a factory makes.
 */
export const JOB_PROCESSOR = Symbol('JOB_PROCESSOR');

/** The same for an Aggregator, or a list of them. */
export const JOB_AGGREGATOR = Symbol('JOB_AGGREGATOR');

/** What an engine provides: one of its classes, or one of the tokens of this module. */
export type BulkActionProvision = Type<unknown> | Abstract<unknown> | symbol;

const named = (provision: BulkActionProvision): string =>
  typeof provision === 'symbol' ? String(provision.description) : provision.name;

/**
 * The injection token of what an engine provides.
 * @param provision - a class (`BulkActionService`) or a token (`BULK_ACTION_CONFIG`).
 * @param engine - the `name` that the engine was registered with; without one it is the class or token itself.
 */
export const bulkActionToken = (provision: BulkActionProvision, engine?: string): InjectionToken =>
  engine === undefined ? provision : Symbol.for(`@millrace/bulk-action ${engine} ${named(provision)}`);

/**
 * Injects what an engine provides.
 * @param provision - a class (`BulkActionService`) or a token (`BULK_ACTION_CONFIG`).
 * @param engine - the `name` that the engine was registered with.
 * @returns a parameter and property decorator.
 */
export const InjectBulkAction = (
  provision: BulkActionProvision,
  engine?: string,
): ReturnType<typeof Inject> => Inject(bulkActionToken(provision, engine));

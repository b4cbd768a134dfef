import {
  anyOption,
  durationOption,
  integerOption,
  numberOption,
  type OptionRule,
  type OptionRules,
  oneOfOption,
  resolveOptions,
} from '@millrace/foundation';
import type { GroupInput, GroupPatch, Moment, TenantPatch } from './model.js';
import type { ResolvedBulkActionConfig } from './options.js';
import type { GroupDefinition } from './ports.js';
import { checkId, checkTenant, idInvalid, parseGroupRef } from './rules/ids.js';
import { momentMs, momentOption } from './rules/moments.js';
import { PriorityLevel } from './states.js';

/** A W3C trace context, or ''. */
export const traceparentOption: OptionRule = Object.freeze({
  expected: 'at most 100 printable ASCII characters',
  accepts: (value: unknown) => typeof value === 'string' && /^[\x20-\x7e]{0,100}$/.test(value),
});

/** Checked by the rules of ids, which say more. */
const checkedLater: OptionRule = { expected: 'an id', accepts: () => true };
const nullOption: OptionRule = { expected: 'null', accepts: (value) => value === null };
const orNull = (rule: OptionRule) => anyOption(rule, nullOption);

const weight = numberOption({ min: 0.001, max: 1_000_000 });
// One start in three hours: far below it the microseconds of a limiter's debt would no longer be whole numbers.
const rps = numberOption({ min: 0.0001, max: 1_000_000 });
const burst = integerOption({ min: 1, max: 1_000_000 });
const concurrency = integerOption({ min: 1 });
const timeoutMs = durationOption({ min: 1 });
const priorityLevel = oneOfOption(...Object.values(PriorityLevel));

type ResolvedInput = Omit<GroupDefinition, 'key' | 'tenant' | 'tenantId' | 'deadline'> & {
  readonly id: unknown;
  readonly tenant?: unknown;
  readonly tenantId?: unknown;
  readonly deadline?: Moment;
};

const GROUP_RULES: OptionRules<Required<ResolvedInput>> = {
  id: checkedLater,
  tenant: checkedLater,
  tenantId: checkedLater,
  weight,
  priorityLevel,
  rps,
  burst,
  concurrency,
  timeoutMs,
  deadline: momentOption,
  traceparent: traceparentOption,
};

const TENANT_PATCH_RULES: OptionRules<Required<TenantPatch>> = {
  weight,
  rps: orNull(rps),
  burst: orNull(burst),
  concurrency: orNull(concurrency),
};

const GROUP_PATCH_RULES: OptionRules<Required<GroupPatch>> = {
  ...TENANT_PATCH_RULES,
  priorityLevel,
  timeoutMs,
  deadline: orNull(momentOption),
};

/**
 * Completes and checks the definition of a group.
 * @param owner - the method, for messages.
 * @param input - what the caller gave.
 * @param config - where the defaults come from.
 * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function defineGroup(
  owner: string,
  input: GroupInput,
  config: Pick<ResolvedBulkActionConfig, 'watcher'>,
): GroupDefinition {
  const defaults = {
    weight: 1,
    priorityLevel: PriorityLevel.NORMAL,
    timeoutMs: config.watcher.groupTimeoutMs,
    traceparent: '',
  };
  const resolved = resolveOptions<ResolvedInput>({ owner, defaults, rules: GROUP_RULES }, input as never);
  const { id, tenant: namespace, tenantId: unit, deadline, ...rest } = resolved;
  const own = namespace === undefined ? '' : checkTenant(namespace);
  const ref = parseGroupRef(id, own);
  // An id may name its namespace itself, but not another one than the caller's.
  if (own !== '' && own !== ref.tenant) throw idInvalid('groupId', `in the namespace of '${own}'`, id);
  return {
    ...rest,
    key: ref.key,
    tenant: ref.tenant,
    tenantId: unit === undefined ? ref.tenant || ref.id : tenantIdOf(ref.tenant, unit),
    ...(deadline !== undefined && { deadline: momentMs(deadline) }),
  };
}

/** A group of a namespace spends its own share: with another's name it could spend theirs. */
function tenantIdOf(tenant: string, unit: unknown): string {
  const tenantId = checkId('tenantId', unit);
  if (tenant !== '' && tenantId !== tenant)
    throw idInvalid('tenantId', `'${tenant}', the group's tenant`, unit);
  return tenantId;
}

/**
 * Checks what is to change in a group.
 * @param patch - what the caller gave.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function checkGroupPatch(patch: GroupPatch): GroupPatch {
  const spec = { owner: 'updateGroup', defaults: {}, rules: GROUP_PATCH_RULES };
  const { deadline, ...rest } = resolveOptions<Required<GroupPatch>>(spec, patch as never) as GroupPatch;
  if (deadline === undefined) return rest;
  return { ...rest, deadline: deadline === null ? null : momentMs(deadline) };
}

/**
 * Checks what is to change in a tenant.
 * @param patch - what the caller gave.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const checkTenantPatch = (patch: TenantPatch): TenantPatch =>
  resolveOptions<Required<TenantPatch>>(
    { owner: 'updateTenant', defaults: {}, rules: TENANT_PATCH_RULES },
    patch as never,
  ) as TenantPatch;

import type { ResponseOf } from '@millrace/contract/server-client';
import { Command } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { countFromOne, orNone, positiveNumber } from '../ask/options.js';
import { amount, percent } from '../show/amounts.js';
import type { Column, Printer } from '../show/printer.js';
import type { End, Surroundings } from '../surroundings.js';
import { limitTexts, nullFor } from './groups/limit-options.js';

type Tenant = ResponseOf<'getTenant'>;
type Share = ResponseOf<'getFairness'>['tenants'][number];

interface OneTenant {
  readonly tenant: string;
}

interface SetOptions extends OneTenant {
  readonly weight?: number;
  readonly rps?: number | 'none';
  readonly burst?: number | 'none';
  readonly concurrency?: number | 'none';
}

const TENANTS_SHOWN = 20;
const NONE = 'none takes the limit away';

const COLUMNS: readonly Column<Share>[] = [
  { name: 'tenant', of: ({ id }) => id },
  { name: 'share now', of: ({ share }) => percent(share), isNumber: true },
  { name: 'fair', of: ({ fairShare }) => percent(fairShare), isNumber: true },
  { name: 'weight', of: ({ weight }) => amount(weight), isNumber: true },
  { name: 'running', of: ({ inFlight }) => amount(inFlight), isNumber: true },
  { name: 'waiting', of: ({ pending }) => amount(pending), isNumber: true },
  { name: 'groups', of: ({ groups }) => amount(groups), isNumber: true },
];

/** `millrace tenants`: looks at what each tenant gets, and changes it. */
export function tenantsCommand(surroundings: Surroundings, end: End): Command {
  const list = new Command('list')
    .description('List tenants with their shares of what is started, the busiest first.')
    .option('--limit <count>', 'How many at most.', countFromOne, TENANTS_SHOWN);
  const show = of('show', 'Show a tenant: its weight, its limits, what it has waiting.');
  const set = of(
    'set',
    'Change weight and limits of a tenant, known or not yet; it acts at once, also on what is queued.',
  )
    .option(
      '--weight <number>',
      'Its part against the other tenants: twice the weight is twice the part.',
      positiveNumber,
    )
    .option('--rps <number>', `Most starts per second; ${NONE}.`, orNone(positiveNumber))
    .option('--burst <count>', `How many starts may come at once; ${NONE}.`, orNone(countFromOne))
    .option('--concurrency <count>', `Most jobs at once; ${NONE}.`, orNone(countFromOne))
    .addHelpText('after', '\nExample:\n  millrace tenants set acme --weight 2 --rps none');
  return new Command('tenants')
    .description('Tenants, the units of fairness: who gets which share, and by which weight.')
    .addCommand(asksServer<{ readonly limit: number }>(list, surroundings, end, listTenants))
    .addCommand(asksServer<OneTenant>(show, surroundings, end, showOne))
    .addCommand(asksServer<SetOptions>(set, surroundings, end, setLimits));
}

const of = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .argument('<tenant>', 'Its id; a group without a tenant is a unit of its own, with the id of the group.');

async function listTenants(asking: Asking, { limit }: { readonly limit: number }): Promise<undefined> {
  const { client, signal } = asking;
  const shares = await client.call('getFairness', { query: { limit } }, { signal });
  asking.answer(shares, (printer) => printer.table(COLUMNS, shares.tenants, 'There are no tenants.'));
}

async function showOne(asking: Asking, { tenant: tenantId }: OneTenant): Promise<undefined> {
  const { client, signal } = asking;
  const tenant = await client.call('getTenant', { params: { tenantId } }, { signal });
  asking.answer(tenant, (printer) => showTenant(printer, tenant));
}

async function setLimits(asking: Asking, options: SetOptions): Promise<undefined> {
  const { client, signal, command } = asking;
  const { tenant: tenantId, weight, rps, burst, concurrency } = options;
  const body = { weight, rps: nullFor(rps), burst: nullFor(burst), concurrency: nullFor(concurrency) };
  if (Object.values(body).every((value) => value === undefined))
    return command.error('error: nothing to change: give at least one of the options, such as --weight 2');
  const tenant = await client.call('changeTenant', { params: { tenantId }, body }, { signal });
  asking.answer(tenant, (printer) => showTenant(printer, tenant));
}

function showTenant(printer: Printer, tenant: Tenant): void {
  printer.fields({
    tenant: tenant.id,
    weight: amount(tenant.weight),
    limits: limitTexts(tenant).join(', ') || 'none',
    groups: `${amount(tenant.groups)} that have not ended`,
    open: `${amount(tenant.inFlight)} running, ${amount(tenant.pending)} waiting`,
    served: `${amount(tenant.served)}, ${amount(tenant.servedPerSecond)} per second now`,
  });
}

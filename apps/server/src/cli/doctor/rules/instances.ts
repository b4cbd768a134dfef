import { duration, pluralize } from '../../show/amounts.js';
import type { ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';

/** Names in one sentence. */
const NAMED_MAX = 3;

/**
 * Judges the processes of a server: who is there, which versions they are of, what each of them sees of its backends.
 * @param facts - the instances, and the server's time.
 */
export function judgeInstances({
  instances,
  nowMs,
}: Pick<ServerFacts, 'instances' | 'nowMs'>): readonly Finding[] {
  const live = instances.filter(({ alive }) => alive);
  const roles = [...new Set(live.map(({ role }) => role))].map(
    (role) => `${live.filter((one) => one.role === role).length} ${role}`,
  );
  const known = finding('ok', 'instances', `${pluralize(live.length, 'instance')}: ${roles.join(', ')}`);
  return [known, judgeVersions(live), judgeGone(instances, nowMs), ...judgeBackends(live)].filter(
    (one) => one !== undefined,
  );
}

type Instances = ServerFacts['instances'];

/** Names, the first of them. */
export const named = (texts: readonly string[]): string =>
  [
    ...texts.slice(0, NAMED_MAX),
    ...(texts.length > NAMED_MAX ? [`${texts.length - NAMED_MAX} more`] : []),
  ].join(', ');

function judgeVersions(live: Instances): Finding | undefined {
  const versions = [...new Set(live.map(({ version }) => version))].sort();
  if (versions.length < 2) return undefined;
  const told = versions.map((version) => {
    const those = live.filter((one) => one.version === version).map(({ instanceId }) => instanceId);
    return `${version} (${named(those)})`;
  });
  return finding('warning', 'instances.versions', 'The instances are of different versions', {
    seen: `${told.join('; ')}.`,
    action: 'While a rollout is under way that is well; otherwise bring all of them to one version.',
  });
}

function judgeGone(instances: Instances, nowMs: number): Finding | undefined {
  const gone = instances.filter(({ alive, stopping }) => !alive && !stopping);
  if (gone.length === 0) return undefined;
  const told = gone.map(
    ({ instanceId, seenAt }) =>
      `${instanceId} (last heard of ${duration(Math.max(0, nowMs - Date.parse(seenAt)))} ago)`,
  );
  return finding('note', 'instances.gone', `${pluralize(gone.length, 'instance')} ended without saying so`, {
    seen: `${named(told)}. They were killed, or lost the database; their work is taken over by the others.`,
    action: 'Look at the end of their logs; they are listed for a day.',
  });
}

function judgeBackends(live: Instances): readonly Finding[] {
  return live.flatMap(({ instanceId, backends }) =>
    backends
      .filter(({ ok, name }) => !ok && name !== 'stopping')
      .map(({ name, message }) =>
        finding('failure', 'instances.backends', `The instance ${instanceId} cannot use its ${name}`, {
          seen: message,
          action: `Repair the connection from that machine to its ${name}, or its settings there (\`millrace doctor\` on that machine says more).`,
        }),
      ),
  );
}

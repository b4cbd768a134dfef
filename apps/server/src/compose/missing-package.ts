import { readFileSync } from 'node:fs';
import { nearestKey } from '@millrace/foundation';

const SCOPE = '@millrace/';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
/** What an application may import of ours. */
const OURS = [
  manifest.name,
  ...Object.keys(manifest.dependencies).filter((name) => name.startsWith(SCOPE)),
  // Not needed by the server itself.
  '@millrace/async-utils',
];

/**
 * What to do about a package that an application imports and that is not there. A name that is nearly one of ours is a slip: whoever owns
 * such a package would be glad if we told people to install it.
 */
export function missingPackageAdvice(name: string): string {
  if (OURS.includes(name)) return `run 'npm install ${name}' in the folder of the application`;
  const nearest = nearestKey(name, OURS);
  if (nearest !== undefined) return `did you mean '${nearest}'?`;
  return name.startsWith(SCOPE)
    ? 'Millrace has no such package'
    : 'install it in the folder of the application';
}

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, extname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { nearestKey, toWorkError } from '@millrace/foundation';

/** Where the code is that has tried to load it. */
const OWN = fileURLToPath(new URL('../', import.meta.url));
/** Of a process that only parses. */
const PARSE_LIMIT_MS = 10_000;

/**
 * Says why a module cannot be loaded: where the mistake is, if Node knows, and what to do about a package that is not installed and about
 * a file that Node takes for something else.
 * @param file - the module's path; others are named as seen from its folder.
 */
export async function loadingProblem(error: unknown, file: string): Promise<string> {
  const folder = dirname(file) + sep;
  const shorten = (text: string) => text.replaceAll(folder, `.${sep}`);
  const { code, message } = toWorkError(error);
  const [sentence = ''] = message.split('\n');
  if (sentence.startsWith(`Cannot find module '${file}' `)) return 'there is no such file';
  const missing = /MODULE_NOT_FOUND$/.test(code) ? packageIn(sentence) : undefined;
  if (missing !== undefined) return shorten(`${sentence}; ${missingPackageAdvice(missing)}`);
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' && /"\.[cm]?tsx?"/.test(sentence))
    return typescriptProblem(sentence, file, shorten);
  const place =
    placeIn(stackOf(error)) ?? (error instanceof SyntaxError ? await parsedPlace(file) : undefined);
  const placed = place === undefined ? sentence : `${sentence} (${place})`;
  return shorten(OTHER_SYNTAX.test(sentence) ? placed + moduleAdvice(place ?? file) : placed);
}

/** Of an application itself, its path stands before this, as it was given. */
function typescriptProblem(sentence: string, file: string, shorten: (text: string) => string): string {
  const compiled = extname(file).replace(/ts|tsx$/, 'js');
  return sentence.endsWith(` for ${file}`)
    ? `TypeScript: compile it first (npx tsc) and start the ${compiled}`
    : `${shorten(sentence)}; TypeScript: compile it first (npx tsc)`;
}

/** What Node says of modules that it takes for CommonJS, as `npm init` would have it. */
const OTHER_SYNTAX =
  /^(Cannot use import statement outside a module|Cannot use 'import\.meta' outside a module|Unexpected token 'export')/;

function moduleAdvice(place: string): string {
  const file = place.replace(/:\d+$/, '');
  if (extname(file) !== '.js') return '';
  return `; name it ${basename(file, '.js')}.mjs, or set "type": "module" in package.json`;
}

/** The package that was not found; undefined when it was a file. */
function packageIn(message: string): string | undefined {
  const [, specifier = ''] = /^Cannot find (?:package|module) '([^']+)'/.exec(message) ?? [];
  return /^(@[^/]+\/)?[\w-][^/:\\]*/.exec(specifier)?.[0];
}

function stackOf(error: unknown): string {
  const stack: unknown = error instanceof Error ? error.stack : undefined;
  return typeof stack === 'string' ? stack : '';
}

const PLACE = /^(?:\s+at (?:.*\()?(?:async )?)?((?:file:\/\/)?\/[^()]*?):(\d+)(?::\d+)?\)?$/;

/** `file:line` above the message, or of the first frame that is neither Node's nor an installed package's nor ours. */
function placeIn(stack: string): string | undefined {
  for (const line of stack.split('\n')) {
    const [, where, number] = PLACE.exec(line) ?? [];
    if (where === undefined) continue;
    const path = where.startsWith('file:') ? fileURLToPath(where) : where;
    if (!path.includes('/node_modules/') && !path.startsWith(OWN)) return `${path}:${number}`;
  }
  return undefined;
}

/**
 * Where the syntax of a module, or of one that it imports, is wrong. Node tells that only to whoever does not catch the error: another
 * process does not. All modules are parsed before the first one runs, which ends the process, so nothing of the user's runs twice.
 */
function parsedPlace(file: string): Promise<string | undefined> {
  const code = `import 'data:text/javascript,process.exit(0)'; import ${JSON.stringify(pathToFileURL(file).href)};`;
  const args = [...process.execArgv, '--input-type=module', '--eval', code];
  const options = { cwd: dirname(file), timeout: PARSE_LIMIT_MS, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (_, __, stderr) => resolve(placeIn(stderr)));
  });
}

const SCOPE = '@millrace/';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
};
/** The packages of Millrace that an application may import. */
const OURS = [
  manifest.name,
  ...Object.keys(manifest.dependencies).filter((name) => name.startsWith(SCOPE)),
  // The server itself does not depend on it.
  '@millrace/async-utils',
];

/**
 * Returns the advice for a package that is not installed. Does not advise to install a name that resembles one of ours: it is probably a
 * typo, and the package may be malicious.
 */
function missingPackageAdvice(name: string): string {
  if (OURS.includes(name)) return `run 'npm install ${name}' in the folder of the application`;
  const nearest = nearestKey(name, OURS);
  if (nearest !== undefined) return `did you mean '${nearest}'?`;
  return name.startsWith(SCOPE)
    ? 'Millrace has no such package'
    : 'install it in the folder of the application';
}

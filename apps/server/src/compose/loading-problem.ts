import { execFile } from 'node:child_process';
import { dirname, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { toWorkError } from '@millrace/foundation';

/** Where the code is that has tried to load it. */
const OWN = fileURLToPath(new URL('../', import.meta.url));
/** Of a process that only parses. */
const PARSE_LIMIT_MS = 10_000;

/**
 * Says why a module cannot be loaded: where the mistake is, if Node knows, and what to do about a package that is not installed.
 * @param error - that the import has failed with.
 * @param file - the module's path; others are named as seen from its folder.
 */
export async function loadingProblem(error: unknown, file: string): Promise<string> {
  const folder = dirname(file) + sep;
  const shorten = (text: string) => text.replaceAll(folder, `.${sep}`);
  const { code, message } = toWorkError(error);
  const [sentence = ''] = message.split('\n');
  if (sentence.startsWith(`Cannot find module '${file}' `)) return 'there is no such file';
  const missing = /MODULE_NOT_FOUND$/.test(code) ? packageIn(sentence) : undefined;
  if (missing !== undefined)
    return shorten(`${sentence}; run 'npm install ${missing}' in the folder of the application`);
  const place =
    placeIn(stackOf(error)) ?? (error instanceof SyntaxError ? await parsedPlace(file) : undefined);
  return shorten(place === undefined ? sentence : `${sentence} (${place})`);
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

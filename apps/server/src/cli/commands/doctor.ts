import { Command, InvalidArgumentError } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { positiveNumber } from '../ask/options.js';
import type { SidedFinding } from '../doctor/examine.js';
import { linesOf, verdictOf } from '../doctor/show-finding.js';
import { type End, EXIT, type Surroundings } from '../surroundings.js';

/** Long enough to see whether a queue grows; nobody minds waiting for it. */
const WATCH_SECONDS = 2;
const WATCH_SECONDS_MAX = 600;

interface Options {
  readonly config?: string;
  readonly seconds: number;
  readonly url?: string;
}

/**
 * `millrace doctor`: finds out what is wrong, and says what to do. Looks only; exits with 1 when something does not work.
 */
export function doctorCommand(surroundings: Surroundings, end: End): Command {
  const command = new Command('doctor')
    .description('Find out what is wrong, here and with a running server, and say what to do.')
    .option('--config <file>', 'The file of settings, instead of millrace.config.js or .json here.')
    .option('--seconds <n>', 'For how long to watch the queues of the server.', watchSeconds, WATCH_SECONDS)
    .addHelpText('after', NOTES);
  return asksServer<Options>(command, surroundings, end, doctor);
}

function watchSeconds(text: string): number {
  const seconds = positiveNumber(text);
  if (seconds > WATCH_SECONDS_MAX)
    throw new InvalidArgumentError(`It must be a number up to ${WATCH_SECONDS_MAX}.`);
  return seconds;
}

const NOTES = `
It looks at the settings and backends that \`millrace start\` would have here, then at the server;
it changes nothing. The exit code is 1 when there is a failure; notes and warnings are only told.`;

async function doctor(asking: Asking, { config, seconds, url }: Options): Promise<number> {
  const { surroundings, printer, isJson, signal, apiKey } = asking;
  // All of the settings and both backends are behind it.
  const { examine } = await import('../doctor/examine.js');
  const findings: SidedFinding[] = [];
  const isNamed = url !== undefined || Boolean(surroundings.env.MILLRACE_URL);
  const found = examine({
    ...{ surroundings, configFile: config, url: asking.url, isNamed, apiKey, signal },
    watchMs: seconds * 1000,
  });
  for await (const one of found) {
    const lines = isJson ? [] : linesOf(one, findings.at(-1), printer.colours);
    for (const line of lines) surroundings.stdout.write(`${line}\n`);
    findings.push(one);
  }
  const hasFailed = findings.some(({ level }) => level === 'failure');
  asking.answer({ ok: !hasFailed, findings }, () => {
    printer.line('');
    printer.line(verdictOf(findings));
  });
  return hasFailed ? EXIT.FAILED : EXIT.DONE;
}

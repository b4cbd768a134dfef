import { Command, Option } from 'commander';
import { type Asking, asksServer } from '../ask/asking.js';
import { type PageOptions, pageOptions, remarkMore } from '../ask/options.js';
import type { End, Surroundings } from '../surroundings.js';
import { explanationLines } from './jobs/explanation.js';
import { JOB_COLUMNS, type Job, showJob } from './jobs/show-job.js';

/** All of them: the compiler misses none. */
const STATES: Readonly<Record<Job['status'], true>> = {
  PENDING: true,
  PROCESSING: true,
  COMPLETED: true,
  FAILED: true,
  CANCELLED: true,
};

interface ListOptions extends PageOptions {
  readonly group: string;
  readonly state?: Job['status'];
}

interface OneJob {
  readonly group: string;
  readonly job: string;
}

/** `millrace jobs`: looks at the jobs of a group. */
export function jobsCommand(surroundings: Surroundings, end: End): Command {
  const list = ofGroup('list', 'List the jobs of a group.').addOption(
    new Option('--state <state>', 'Only those in this state.').choices(Object.keys(STATES)),
  );
  const show = ofGroup('show', 'Show a job: its state, its tries, what it was given.').argument(
    '<job>',
    'Its id.',
  );
  const explain = ofGroup('explain', 'Say why a job does not run, and until when.').argument(
    '<job>',
    'Its id.',
  );
  return new Command('jobs')
    .description('Jobs of groups: look at them, ask why they wait.')
    .addCommand(asksServer<ListOptions>(pageOptions(list), surroundings, end, listJobs))
    .addCommand(asksServer<OneJob>(show, surroundings, end, showOne))
    .addCommand(asksServer<OneJob>(explain, surroundings, end, explainOne));
}

const ofGroup = (name: string, description: string): Command =>
  new Command(name).description(description).argument('<group>', 'The id of its group, or tenant/id.');

async function listJobs(asking: Asking, options: ListOptions): Promise<undefined> {
  const { group: groupId, state, limit, cursor } = options;
  const { client, signal } = asking;
  const request = { params: { groupId }, query: { state, limit, cursor } };
  const page = await client.call('listJobs', request, { signal });
  asking.answer(page, (printer) => {
    printer.table(JOB_COLUMNS, page.items, 'There are no such jobs.');
    remarkMore(printer, page.cursor);
  });
}

async function showOne(asking: Asking, { group: groupId, job: jobId }: OneJob): Promise<undefined> {
  const { client, signal } = asking;
  const job = await client.call('getJob', { params: { groupId, jobId } }, { signal });
  asking.answer(job, (printer) => showJob(printer, job));
}

async function explainOne(asking: Asking, { group: groupId, job: jobId }: OneJob): Promise<undefined> {
  const { client, signal } = asking;
  const explanation = await client.call('explainJob', { params: { groupId, jobId } }, { signal });
  asking.answer(explanation, (printer) => {
    for (const line of explanationLines(explanation)) printer.line(line);
  });
}

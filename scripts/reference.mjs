import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { build } from './build.mjs';
import { root } from './command.mjs';
import { parseSource, targetOf } from './source-files.mjs';

/**
 * The tables of the reference: package, title, file below `src`, interface, the constant of the built file that has the defaults, and a note. A table
 * with a note has only the members that the interface itself declares.
 */
const SECTIONS = `
async-utils | retry(fn, options) | retry.ts | RetryOptions
async-utils | pLimit(options) | limit.ts | LimitOptions
async-utils | limit.run(fn, options) | limit.ts | TaskOptions
async-utils | timeout(fn, options) | timeout.ts | TimeoutOptions
async-utils | wait(ms, options) | wait.ts | WaitOptions
async-utils | waitUntil(condition, options) | wait.ts | WaitUntilOptions
async-utils | AsyncUtilsModule.forRoot(config) | nestjs/options.ts | AsyncUtilsConfig | | Each is what the function of that name takes.
runtime | new InMemoryQueue(config) | options.ts | QueueConfig | QUEUE_DEFAULTS
runtime | new RedisQueue(config) | redis/options.ts | RedisQueueConfig | REDIS_QUEUE_DEFAULTS
runtime | new Worker(queue, handler, config) | options.ts | WorkerConfig | WORKER_DEFAULTS
runtime | new ThreadPool(config) | threads/options.ts | ResolvedThreadPoolConfig | THREAD_POOL_DEFAULTS
runtime | new TaskManager(handler, config) | lanes/options.ts | ResolvedTaskManagerConfig | TASK_MANAGER_DEFAULTS
runtime | new ChatService(dependencies, options) | chat/options.ts | ResolvedChatServiceOptions | CHAT_SERVICE_DEFAULTS
runtime | new OpenAiChatRuntime(options) | chat/openai-options.ts | ResolvedOpenAiChatRuntimeOptions | OPENAI_CHAT_RUNTIME_DEFAULTS
runtime | new InMemoryChatSessionStore(options) | chat/in-memory-session-store.ts | ResolvedInMemorySessionStoreOptions | IN_MEMORY_SESSION_STORE_DEFAULTS
runtime | RuntimeModule.forRoot(options) | nestjs/options.ts | RuntimeModuleOptions
bulk-action | new BulkActionEngine({ config }) | options.ts | ResolvedBulkActionConfig | BULK_ACTION_DEFAULTS
bulk-action | resources: { name: … } | config-sections.ts | ResourceConfig
bulk-action | submitBulk(group, jobs): a group | model.ts | GroupInput
bulk-action | submitBulk(group, jobs): a job | model.ts | JobInput
bulk-action | defineProcessor(processor) | processor.ts | JobProcessor
bulk-action | defineAggregator(aggregator) | aggregator.ts | Aggregator
bulk-action | BulkActionModule.forRoot(options) | nestjs/options.ts | BulkActionModuleOptions | | And all of \`new BulkActionEngine({ config })\`.
bulk-action | new EmailProcessor(options) | processors/email-processor.ts | ResolvedEmailProcessorOptions
bulk-action | new HttpRequestProcessor(options) | processors/http-request-processor.ts | ResolvedHttpRequestProcessorOptions
bulk-action | new WebPushTransport(options) | processors/web-push-transport.ts | ResolvedWebPushTransportOptions
outbox | new Outbox(options) | options.ts | OutboxOptions | OUTBOX_DEFAULTS
outbox | task(definition): transactional | define-dag.ts | TransactionalTask
outbox | task(definition): external | define-dag.ts | ExternalTask
outbox | startBatch(dag, options) | pusher.ts | StartOptions
outbox | schedules.set(schedule) | schedules.ts | ScheduleInput
outbox | OutboxModule.forRoot(options) | nestjs/options.ts | OutboxModuleOptions | | And all of \`new Outbox(options)\`.
orchestrator | new OrchestratorService(options) | options.ts | ResolvedOrchestratorOptions | ORCHESTRATOR_DEFAULTS
orchestrator | new RouteExecutor(options) | options.ts | AttemptOptions | ATTEMPT_DEFAULTS
orchestrator | inline(run, options) | routes.ts | InlineOptions
orchestrator | bulk(toGroup, options) and batch(dag, toPayload, options) | routes.ts | RouteOptions | | For \`protect\` see below.
orchestrator | protect | protection/options.ts | ProtectionOptions | PROTECTION_DEFAULTS
orchestrator | new MemoryOperationStore(options) | memory/store.ts | MemoryOperationStoreOptions
orchestrator | OrchestratorModule.forRoot(options) | nestjs/options.ts | OrchestratorModuleOptions | | And all of \`new OrchestratorService(options)\`; \`tries\` are those of RouteExecutor.
orchestrator | OrchestratorModule.forRoot: where it is served | nestjs/options.ts | OrchestratorModuleShape
postgres | new PgDatabase(options) | pg/options.ts | PgDatabaseOptions | PG_DATABASE_DEFAULTS
postgres | new PgliteDatabase(options) | pglite/options.ts | PgliteDatabaseOptions | PGLITE_DATABASE_DEFAULTS
redis | new RedisConnection(options) | options.ts | RedisConnectionOptions | REDIS_CONNECTION_DEFAULTS
`;

const HEAD = `# Reference

Every option of every part, written from the source by \`npm run docs\`; a test compares them. Times are in milliseconds. See also [error codes](errors.md),
[the settings of a server](configuration.md) and [commands](cli.md).
`;

/** Types whose members are options too. Their rows are part of the table that names them. */
const NESTED = /^\w+(Config|Options)$/;
/** Types that pass on their only argument, with all members optional. */
const WRAPPERS = new Set(['PartialOptions', 'Section', 'Partial', 'Readonly']);
/** Options of every part, for tests. */
const EVERYWHERE = {
  clock: 'Time and timers; for tests.',
  rng: 'Source of randomness; for tests.',
  logger: 'Receives log lines (none).',
};

export const REFERENCE = join(root, 'docs/reference.md');

const files = new Map();
function sourceOf(path) {
  if (!files.has(path)) files.set(path, parseSource(path, readFileSync(join(root, path), 'utf8')));
  return files.get(path);
}

/** Finds an interface in a file, or in one of ours that the file imports it from. */
function findInterface(path, name) {
  const file = sourceOf(path);
  const node = file.program.body
    .map((statement) => statement.declaration ?? statement)
    .find(({ type, id }) => type === 'TSInterfaceDeclaration' && id.name === name);
  if (node) return { file, node };
  const statement = file.program.body.find(
    ({ type, specifiers }) =>
      type === 'ImportDeclaration' && specifiers.some(({ local }) => local.name === name),
  );
  const target = targetOf(path, statement?.source.value ?? '');
  return target && findInterface(target, name);
}

/** The members of an interface and of those it extends, each with its file. */
function membersOf({ file, node }, isOwn = false) {
  const own = node.body.body.map((member) => ({ file, member, name: member.key.name }));
  const inherited = (isOwn ? [] : (node.extends ?? [])).flatMap(({ expression, typeArguments }) => {
    const [first, second] = typeArguments?.params ?? [];
    const isPart = expression.name === 'Pick' || expression.name === 'Omit';
    const found = findInterface(file.path, isPart ? first.typeName.name : expression.name);
    const names = (second?.types ?? [second]).map((type) => type?.literal?.value);
    const isIn = ({ name }) => !isPart || names.includes(name) === (expression.name === 'Pick');
    return found ? membersOf(found).filter(isIn) : [];
  });
  const declared = new Set(own.map(({ name }) => name));
  return [...own, ...inherited.filter(({ name }) => !declared.has(name))];
}

/** The doc comment right above a member, as one line. */
function commentOf({ file, member }) {
  const comment = file.comments.findLast(({ end }) => end <= member.start);
  if (!comment?.value.startsWith('*') || file.text.slice(comment.end, member.start).trim() !== '') return '';
  const text = comment.value.replace(/^\s*\*+ ?/gm, '');
  return text.replace(/\s+/g, ' ').trim();
}

/** The interface of a member whose options have rows of their own. */
function nestedIn(file, type) {
  const name = type?.typeName?.name;
  if (WRAPPERS.has(name)) return nestedIn(file, type.typeArguments?.params[0]);
  return NESTED.test(name) ? findInterface(file.path, name) : undefined;
}

/** Shows numbers, texts and objects of them; a clock or a store is not a default to read. */
function defaultText(value) {
  if (value === undefined || value === '' || typeof value === 'function') return '';
  if (typeof value !== 'object') return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  const isPlain = Object.values(value ?? []).every((one) => /^(number|string|boolean)$/.test(typeof one));
  return value && Object.getPrototypeOf(value) === Object.prototype && isPlain ? `\`${inspect(value)}\`` : '';
}

/** The rows of an interface. @throws Error if a member has no comment. */
function rowsOf(place, defaults, { isOwn = false, prefix = '' } = {}) {
  return membersOf(place, isOwn).flatMap(({ file, member, name }) => {
    const declared = member.typeAnnotation?.typeAnnotation;
    const types = (declared?.types ?? [declared]).filter(
      (type) => type && type.type !== 'TSUndefinedKeyword',
    );
    const nested = isOwn || types.length > 1 ? undefined : nestedIn(file, types[0]);
    if (nested) return rowsOf(nested, defaults?.[name], { prefix: `${prefix}${name}.` });
    const text = types
      .map(({ start, end }) => file.text.slice(start, end).replace(/^\((.*)\)$/s, '$1'))
      .join(' | ');
    const comment = commentOf({ file, member }) || EVERYWHERE[name];
    if (!comment) throw new Error(`${file.path}: ${place.node.id.name}.${name} has no comment`);
    const cells = [
      `\`${prefix}${name}\``,
      `\`${text || 'function'}\``,
      defaultText(defaults?.[name]),
      comment,
    ];
    return `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`;
  });
}

/** Makes the document from the sources and the defaults as they are built. */
export async function makeReference() {
  const parts = [];
  for (const line of SECTIONS.trim().split('\n')) {
    const [name, title, file, type, defaults, note] = line.split('|').map((cell) => cell.trim());
    const place = findInterface(`packages/${name}/src/${file}`, type);
    if (!place) throw new Error(`packages/${name}/src/${file} has no interface ${type}`);
    const built = join(root, 'packages', name, 'dist', file.replace(/\.ts$/, '.js'));
    const values = defaults && (await import(built))[defaults];
    if (defaults && !values) throw new Error(`${built} exports no ${defaults}`);
    const heading = `## @millrace/${name}\n`;
    if (!parts.includes(heading)) parts.push(heading);
    const rows = rowsOf(place, values, { isOwn: note !== undefined }).join('\n');
    parts.push(`### \`${title}\`\n\n| option | type | default | |\n|---|---|---|---|\n${rows}\n`);
    if (note) parts.push(`${note}\n`);
  }
  return `${HEAD}\n${parts.join('\n')}`;
}

if (import.meta.filename === process.argv[1]) {
  await build();
  writeFileSync(REFERENCE, await makeReference());
}

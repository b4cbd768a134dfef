import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { inspect } from 'node:util';
import { build } from './build.mjs';
import { root } from './command.mjs';
import { parseSource, walk } from './source-files.mjs';

/**
 * What a reader can set: where its type stands, and where its defaults do (a file of `dist` and a name in it; else they stand in the
 * destructuring of the same file).
 */
const SECTIONS = [
  section('async-utils', 'retry(fn, options)', 'retry.ts', 'RetryOptions'),
  section('async-utils', 'pLimit(options)', 'limit.ts', 'LimitOptions'),
  section('async-utils', 'limit.run(fn, options)', 'limit.ts', 'TaskOptions'),
  section('async-utils', 'timeout(fn, options)', 'timeout.ts', 'TimeoutOptions'),
  section('async-utils', 'wait(ms, options)', 'wait.ts', 'WaitOptions'),
  section('async-utils', 'waitUntil(condition, options)', 'wait.ts', 'WaitUntilOptions'),
  ownSection(
    'async-utils',
    'AsyncUtilsModule.forRoot(config)',
    'nestjs/options.ts',
    'AsyncUtilsConfig',
    'Each is what the function of that name takes.',
  ),
  section('runtime', 'new InMemoryQueue(config)', 'options.ts', 'QueueConfig', 'QUEUE_DEFAULTS'),
  section(
    'runtime',
    'new RedisQueue(config)',
    'redis/options.ts',
    'RedisQueueConfig',
    'REDIS_QUEUE_DEFAULTS',
  ),
  section('runtime', 'new Worker(queue, handler, config)', 'options.ts', 'WorkerConfig', 'WORKER_DEFAULTS'),
  section(
    'runtime',
    'new ThreadPool(config)',
    'threads/options.ts',
    'ResolvedThreadPoolConfig',
    'THREAD_POOL_DEFAULTS',
  ),
  section(
    'runtime',
    'new TaskManager(handler, config)',
    'lanes/options.ts',
    'ResolvedTaskManagerConfig',
    'TASK_MANAGER_DEFAULTS',
  ),
  section(
    'runtime',
    'new ChatService(dependencies, options)',
    'chat/options.ts',
    'ResolvedChatServiceOptions',
    'CHAT_SERVICE_DEFAULTS',
  ),
  section(
    'runtime',
    'new OpenAiChatRuntime(options)',
    'chat/openai-options.ts',
    'ResolvedOpenAiChatRuntimeOptions',
    'OPENAI_CHAT_RUNTIME_DEFAULTS',
  ),
  section(
    'runtime',
    'new InMemoryChatSessionStore(options)',
    'chat/in-memory-session-store.ts',
    'ResolvedInMemorySessionStoreOptions',
    'IN_MEMORY_SESSION_STORE_DEFAULTS',
  ),
  section('runtime', 'RuntimeModule.forRoot(options)', 'nestjs/options.ts', 'RuntimeModuleOptions'),
  section(
    'bulk-action',
    'new BulkActionEngine({ config })',
    'options.ts',
    'ResolvedBulkActionConfig',
    'BULK_ACTION_DEFAULTS',
  ),
  section('bulk-action', 'resources: { name: … }', 'config-sections.ts', 'ResourceConfig'),
  section('bulk-action', 'submitBulk(group, jobs): a group', 'model.ts', 'GroupInput'),
  section('bulk-action', 'submitBulk(group, jobs): a job', 'model.ts', 'JobInput'),
  section('bulk-action', 'defineProcessor(processor)', 'processor.ts', 'JobProcessor'),
  section('bulk-action', 'defineAggregator(aggregator)', 'aggregator.ts', 'Aggregator'),
  ownSection(
    'bulk-action',
    'BulkActionModule.forRoot(options)',
    'nestjs/options.ts',
    'BulkActionModuleOptions',
    'And all of `new BulkActionEngine({ config })`.',
  ),
  section(
    'bulk-action',
    'new EmailProcessor(options)',
    'processors/email-processor.ts',
    'ResolvedEmailProcessorOptions',
  ),
  section(
    'bulk-action',
    'new HttpRequestProcessor(options)',
    'processors/http-request-processor.ts',
    'ResolvedHttpRequestProcessorOptions',
  ),
  section(
    'bulk-action',
    'new WebPushTransport(options)',
    'processors/web-push-transport.ts',
    'ResolvedWebPushTransportOptions',
  ),
  section('outbox', 'new Outbox(options)', 'options.ts', 'OutboxOptions', 'OUTBOX_DEFAULTS'),
  section('outbox', 'task(definition): transactional', 'define-dag.ts', 'TransactionalTask'),
  section('outbox', 'task(definition): external', 'define-dag.ts', 'ExternalTask'),
  section('outbox', 'startBatch(dag, options)', 'pusher.ts', 'StartOptions'),
  section('outbox', 'schedules.set(schedule)', 'schedules.ts', 'ScheduleInput'),
  ownSection(
    'outbox',
    'OutboxModule.forRoot(options)',
    'nestjs/options.ts',
    'OutboxModuleOptions',
    'And all of `new Outbox(options)`.',
  ),
  section(
    'orchestrator',
    'new OrchestratorService(options)',
    'options.ts',
    'ResolvedOrchestratorOptions',
    'ORCHESTRATOR_DEFAULTS',
  ),
  section('orchestrator', 'new RouteExecutor(options)', 'options.ts', 'TryOptions', 'TRY_DEFAULTS'),
  section('orchestrator', 'inline(run, options)', 'routes.ts', 'InlineOptions'),
  ownSection(
    'orchestrator',
    'bulk(toGroup, options) and batch(dag, toPayload, options)',
    'routes.ts',
    'RouteOptions',
    'For `protect` see below.',
  ),
  section('orchestrator', 'protect', 'protection/options.ts', 'ProtectionOptions', 'PROTECTION_DEFAULTS'),
  section(
    'orchestrator',
    'new MemoryOperationStore(options)',
    'memory/store.ts',
    'MemoryOperationStoreOptions',
  ),
  ownSection(
    'orchestrator',
    'OrchestratorModule.forRoot(options)',
    'nestjs/options.ts',
    'OrchestratorModuleOptions',
    'And all of `new OrchestratorService(options)`; `tries` are those of RouteExecutor.',
  ),
  section(
    'orchestrator',
    'OrchestratorModule.forRoot: where it is served',
    'nestjs/options.ts',
    'OrchestratorModuleShape',
  ),
  section(
    'postgres',
    'new PgDatabase(options)',
    'pg/options.ts',
    'PgDatabaseOptions',
    'PG_DATABASE_DEFAULTS',
  ),
  section(
    'postgres',
    'new PgliteDatabase(options)',
    'pglite/options.ts',
    'PgliteDatabaseOptions',
    'PGLITE_DATABASE_DEFAULTS',
  ),
  section(
    'redis',
    'new RedisConnection(options)',
    'options.ts',
    'RedisConnectionOptions',
    'REDIS_CONNECTION_DEFAULTS',
  ),
];

function section(name, title, file, type, defaults) {
  return { name, title, path: `packages/${name}/src/${file}`, type, defaults };
}

/** Only what a type adds to those it is made of, which stand elsewhere; `also` says where. */
function ownSection(name, title, file, type, also) {
  return { ...section(name, title, file, type), also };
}

/** Types that are a section of settings in their own right, wherever they stand. */
const NESTED = /^\w+(Config|Options)$/;
/** What every part takes, for tests. */
const EVERYWHERE = {
  clock: 'Tells the time and sets timers; for tests.',
  rng: 'Where randomness comes from; for tests.',
  logger: 'Where log lines go; nowhere unless given.',
};
/** What hands on its one argument, each of its members optional. */
const WRAPPERS = new Set(['PartialOptions', 'Section', 'Partial', 'Readonly']);

const files = new Map();
function sourceOf(path) {
  if (!files.has(path)) files.set(path, parseSource(path, readFileSync(join(root, path), 'utf8')));
  return files.get(path);
}

/** Where an interface is declared: in this file, or in one of ours that it imports. */
function findInterface(path, name) {
  const file = sourceOf(path);
  for (const statement of file.program.body) {
    const declared = statement.declaration ?? statement;
    if (declared.type === 'TSInterfaceDeclaration' && declared.id.name === name)
      return { file, node: declared };
  }
  for (const statement of file.program.body) {
    if (statement.type !== 'ImportDeclaration') continue;
    const from = statement.source.value;
    if (!from.startsWith('.') || !statement.specifiers.some(({ local }) => local.name === name)) continue;
    const target = posix.join(posix.dirname(path), from).replace(/\.js$/, '.ts');
    if (existsSync(join(root, target))) return findInterface(target, name);
  }
  return undefined;
}

const literalNames = (node) =>
  (node?.type === 'TSUnionType' ? node.types : [node]).map((type) => type?.literal?.value).filter(Boolean);

const ownMembersOf = ({ file, node }) => node.body.body.map((member) => ({ file, member }));

/** The members of an interface with those that it inherits, each with the file it stands in. */
function membersOf({ file, node }) {
  const inherited = (node.extends ?? []).flatMap(({ expression, typeArguments }) => {
    const [first, second] = typeArguments?.params ?? [];
    const isPart = expression.name === 'Pick' || expression.name === 'Omit';
    const found = findInterface(file.path, isPart ? first.typeName.name : expression.name);
    if (!found) return [];
    const names = literalNames(second);
    const isIn = ({ member }) => names.includes(member.key.name);
    if (expression.name === 'Pick') return membersOf(found).filter(isIn);
    if (expression.name === 'Omit') return membersOf(found).filter((one) => !isIn(one));
    return membersOf(found);
  });
  const own = ownMembersOf({ file, node });
  const named = new Set(own.map(({ member }) => member.key.name));
  return [...own, ...inherited.filter(({ member }) => !named.has(member.key.name))];
}

/** What is said of a member right above it. */
function commentOf({ file, member }) {
  const comment = file.comments.findLast(({ end }) => end <= member.start);
  const isDoc = comment?.value.startsWith('*') && file.text.slice(comment.end, member.start).trim() === '';
  return isDoc
    ? comment.value
        .replace(/^\s*\*+ ?/gm, '')
        .replace(/\s+/g, ' ')
        .trim()
    : '';
}

function withoutUndefined(type) {
  if (type?.type !== 'TSUnionType') return type;
  const left = type.types.filter((one) => one.type !== 'TSUndefinedKeyword');
  return left.length === 1 ? left[0] : { ...type, types: left };
}

/** The interface whose members are settings of their own, if a type is one. */
function nestedIn(file, type) {
  if (type?.type !== 'TSTypeReference') return undefined;
  const name = type.typeName.name;
  if (WRAPPERS.has(name)) return nestedIn(file, type.typeArguments?.params[0]);
  return name && NESTED.test(name) ? findInterface(file.path, name) : undefined;
}

function typeText(file, type) {
  const parts = type?.type === 'TSUnionType' ? type.types : [type];
  return parts
    .map(({ start, end }) => file.text.slice(start, end).replace(/\s+/g, ' '))
    .map((text) => text.replace(/^\((.*)\)$/, '$1'))
    .join(' | ');
}

/** Defaults that stand where options are taken apart: `{ retries = 3 } = options`. */
function destructured(file) {
  const found = {};
  walk(file.program, (node) => {
    if (node.type !== 'Property' || node.value?.type !== 'AssignmentPattern') return;
    const { right } = node.value;
    if (right.type === 'Literal' || right.type === 'UnaryExpression')
      found[node.key.name] = file.text.slice(right.start, right.end);
  });
  walk(file.program, (node) => {
    // { defaults: { connectionsMax: 5 } } of an OptionSpec.
    if (node.type !== 'Property' || node.key.name !== 'defaults' || node.value.type !== 'ObjectExpression')
      return;
    for (const { key, value } of node.value.properties)
      if (value?.type === 'Literal') found[key.name] = file.text.slice(value.start, value.end);
  });
  return found;
}

/** Of numbers and texts only; a clock or a store is no value that anybody would write down. */
const isPlain = (value) =>
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  Object.values(value).every((one) => ['number', 'string', 'boolean'].includes(typeof one));

function defaultText(value) {
  if (value === undefined || value === '' || typeof value === 'function') return '';
  if (typeof value === 'object') return isPlain(value) ? `\`${inspect(value)}\`` : '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

const cell = (text) => text.replaceAll('|', '\\|');

function rowsOf(place, defaults, { isOwn = false, prefix = '' } = {}) {
  const members = isOwn ? ownMembersOf(place) : membersOf(place);
  return members.flatMap((one) => {
    const { file, member } = one;
    const name = member.key.name;
    const type = withoutUndefined(member.typeAnnotation?.typeAnnotation);
    const nested = isOwn ? undefined : nestedIn(file, type);
    const value = defaults?.[name];
    const says = commentOf(one) || (EVERYWHERE[name] ?? '');
    if (nested) return rowsOf(nested, value, { prefix: `${prefix}${name}.` });
    const text = type ? typeText(file, type) : 'function';
    if (says === '') problems.push(`${file.path}: ${place.node.id.name}.${name} has no comment`);
    return [`| \`${prefix}${name}\` | \`${cell(text)}\` | ${cell(defaultText(value))} | ${cell(says)} |`];
  });
}

/** Of the run under way. */
let problems = [];

/**
 * The reference of every option, made of the sources and the defaults as they are built.
 * @returns {Promise<{ text: string, problems: string[] }>} the page, and options that nothing is said of
 */
export async function makeReference() {
  problems = [];
  const parts = [];
  let last = '';
  for (const { name, title, path, type, defaults, also } of SECTIONS) {
    const place = findInterface(path, type);
    if (!place) throw new Error(`${path} has no interface ${type}`);
    const built = join(root, path.replace('/src/', '/dist/').replace(/\.ts$/, '.js'));
    const values = defaults ? (await import(built))[defaults] : destructured(place.file);
    if (defaults && !values) throw new Error(`${built} exports no ${defaults}`);
    if (name !== last) parts.push(`## @millrace/${name}\n`);
    last = name;
    const rows = rowsOf(place, values, { isOwn: also !== undefined }).join('\n');
    parts.push(`### \`${title}\`\n\n| option | type | default | |\n|---|---|---|---|\n${rows}\n`);
    if (also) parts.push(`${also}\n`);
  }
  return { text: `${HEAD}\n${parts.join('\n')}`, problems };
}

const HEAD = `# Reference

Every option of every part, as its source has it: written by \`npm run docs\`, compared by a test. Times are in milliseconds. What an error code
means: [errors.md](errors.md). The settings of a server: [configuration.md](configuration.md). Commands: [cli.md](cli.md).
`;

/** Where it is kept. */
export const REFERENCE = join(root, 'docs/reference.md');

if (import.meta.filename === process.argv[1]) {
  await build();
  const { text, problems: missing } = await makeReference();
  writeFileSync(REFERENCE, text);
  for (const problem of missing) console.error(problem);
  if (missing.length > 0) process.exitCode = 1;
}

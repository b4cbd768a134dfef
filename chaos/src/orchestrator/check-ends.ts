import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type OperationState, type Outcome, TRANSITIONS } from '@millrace/orchestrator';
import { counted } from '../outbox/evidence.js';
import { some, type Verdict } from '../registry.js';
import { type Change, type Evidence, listed, type StoredOperation } from './evidence.js';
import { HOPELESS, type PlannedCommand } from './plan.js';

/**
 * I1: every command was acknowledged and has exactly one operation, the one that all callers were told of; nothing else is there.
 */
export function checkNoLoss({ plan, testimony, operations }: Evidence): Verdict {
  const wrong: string[] = [];
  const keys = new Set(plan.commands.map(({ key }) => key));
  for (const { key } of plan.commands) {
    const stored = operations.filter((operation) => operation.key === key);
    const told = testimony.told.filter((answer) => answer.key === key);
    if (!told.some(({ by }) => by === 'answered')) wrong.push(`${key} was never acknowledged`);
    if (stored.length !== 1) wrong.push(`${key} has ${stored.length} operations`);
    const other = told.find(({ opId }) => opId !== stored[0]?.opId);
    if (other) wrong.push(`${key}: a caller was told of ${other.opId}, stored is ${stored[0]?.opId}`);
  }
  for (const { key, opId } of operations)
    if (!keys.has(key)) wrong.push(`${opId}: nobody asked for its key ${key}`);
  const repeated = testimony.told.filter(({ by }) => by === 'answered').length - plan.commands.length;
  return {
    invariant: 'I1 no loss',
    held: wrong.length === 0 && operations.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${operations.length} keys, one operation each; ${repeated} answers to repeated keys`,
  };
}

/**
 * I2: each operation ended exactly once, by steps that the state machine has, and its outcome never changed after that.
 */
export function checkOneOutcome({ operations, changes }: Evidence): Verdict {
  const wrong: string[] = [];
  let ends = 0;
  for (const { opId, key, outcome } of operations) {
    const own = changes.get(opId) ?? [];
    const terminal = own.filter(
      ({ from, to }) => isEnd(to) && (from === null || !isEnd(from) || from !== to),
    );
    ends += terminal.length;
    if (terminal.length !== 1) wrong.push(`${key} ended ${terminal.length} times`);
    const illegal = own.find((change, at) => !isLegal(own[at - 1], change));
    if (illegal) wrong.push(`${key} went from ${illegal.from} to ${illegal.to}`);
    const last = own.at(-1);
    if (last !== terminal.at(-1)) wrong.push(`${key} was changed after its end`);
    if (!isDeepStrictEqual(outcome, last?.outcome ?? null))
      wrong.push(`${key} has another outcome than it ended with`);
  }
  return {
    invariant: 'I2 exactly one outcome',
    held: wrong.length === 0 && ends > 0,
    evidence: wrong.length > 0 ? some(wrong) : `${ends} ends of ${operations.length} operations`,
  };
}

const isEnd = (state: string): boolean => isTerminal(state as OperationState);

/** What ends before it has started passes through IN_PROGRESS in the same statement, so that only its end is seen. */
function isLegal(before: Change | undefined, { from, to }: Change): boolean {
  if (!before) return from === null && to === 'PENDING';
  if (from !== before.to) return false;
  const next = TRANSITIONS[from as OperationState] ?? [];
  const beyond = next.flatMap((state) => TRANSITIONS[state]);
  return from === to ? !isEnd(from) : [...next, ...beyond].includes(to as OperationState);
}

/** Every operation ended as its work and its route say, whatever died meanwhile. */
export function checkEnds({ plan, operations }: Evidence): Verdict {
  const wrong: string[] = [];
  const commands = new Map(plan.commands.map((command) => [command.key, command]));
  for (const operation of operations) {
    const command = commands.get(operation.key);
    if (command && !isExpected(command, operation))
      wrong.push(
        `${operation.event} ${operation.key} is ${operation.state} with ${JSON.stringify(operation.outcome)}`,
      );
  }
  const kinds = counted(operations.map(({ event, outcome }) => `${event} ${nameOf(outcome)}`).sort());
  return {
    invariant: 'ended as the route says',
    held: wrong.length === 0 && operations.length > 0,
    evidence: wrong.length > 0 ? some(wrong) : listed(kinds),
  };
}

/**
 * What an outcome is called.
 * @param outcome - if there is one.
 */
const nameOf = (outcome: Outcome | null): string =>
  outcome?.type === 'Fail' ? outcome.errorCode : (outcome?.type ?? 'nothing');

function isExpected(command: PlannedCommand, operation: StoredOperation): boolean {
  const { state, outcome, ahead, deadLetter, attempts, attemptsMax } = operation;
  const name = nameOf(outcome);
  if (ahead) return state === 'FAILED' && name === 'CANCELLED' && !deadLetter && isCancelled(command);
  if (state === 'COMPLETED') return name === 'Ok' && command.payload.failures !== HOPELESS;
  if (state !== 'FAILED' || !deadLetter) return false;
  const areSpent = attempts >= attemptsMax;
  if (name === 'Retry') return command.payload.failures === HOPELESS && areSpent;
  return name === 'OPERATION_LOST' && (command.event === 'ONCE' || areSpent);
}

const isCancelled = ({ cancelAfterMs }: PlannedCommand): boolean => cancelAfterMs !== undefined;

/** I8: nothing is under way, nobody owns anything, nothing is left for the Finalizer. */
export function checkNothingLeft({ operations, batches }: Evidence): Verdict {
  const count = (is: (operation: StoredOperation) => boolean) => operations.filter(is).length;
  const left = {
    open: count(({ hasEnded, state }) => !hasEnded || !isEnd(state)),
    owned: count(({ owner, isLeased }) => owner !== null || isLeased),
    waiting: count(({ isDue }) => isDue),
    ahead: count(({ ahead, hasEnded }) => ahead && !hasEnded),
    'running batches': [...batches.values()].filter((status) => status === 'RUNNING').length,
  };
  return {
    invariant: 'I8 nothing left',
    held: Object.values(left).every((number) => number === 0),
    evidence: listed(left),
  };
}

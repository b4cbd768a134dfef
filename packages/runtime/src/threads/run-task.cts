// @ts-nocheck
// The part of the pool that runs in the thread. Plain JavaScript in a .cts file on purpose: Node can `require` it as it
// is, so tests run from source with no build, and tsc puts it into dist as .cjs.

const { parentPort, workerData } = require('node:worker_threads');

// A cause may be its own cause.
const CAUSES_MAX = 8;

const functions = new Map();

// What Node tells the pool of an uncaught error is {} for some (a DataCloneError, an AbortError): so it is told here too.
process.on('uncaughtExceptionMonitor', (error) => {
  parentPort.postMessage({ lastWords: pack(error, CAUSES_MAX) });
});

/** Calls one exported function of one module: the value it gives, or the error it throws as plain data. */
exports.runTask = async ({ module: url, name, args }) => {
  Atomics.add(workerData.begun, 0, 1);
  try {
    const fn = await load(url, name);
    const value = await fn(...args);
    // One turn of the event loop: a rejection that the function left unhandled ends this thread now, and so fails the
    // task that caused it, not the next one.
    await new Promise(setImmediate);
    return { value };
  } catch (error) {
    return { error: pack(error, CAUSES_MAX) };
  }
};

/** Remembers what it found: `import()` of a loaded module still costs 20 µs. */
async function load(url, name) {
  const key = `${url} ${name}`;
  const known = functions.get(key);
  if (known) return known;
  const loaded = await import(url);
  const fn = loaded[name];
  if (typeof fn !== 'function') {
    const names = Object.keys(loaded).join(', ') || 'nothing';
    throw new TypeError(`${url} exports no function '${name}'; it exports ${names}`);
  }
  functions.set(key, fn);
  return fn;
}

/** An error as data: `structuredClone` alone keeps neither code nor own properties, nor names of its own. */
function pack(error, causesLeft) {
  try {
    if (!(error instanceof Error)) return { thrown: isCloneable(error) ? error : String(error) };
    const { name, message, stack, code, cause } = error;
    const own = Object.fromEntries(
      Object.entries({ code, ...error }).filter(([, value]) => value !== undefined && isCloneable(value)),
    );
    const packed = { name: String(name), message: String(message), stack: String(stack), own };
    if (cause !== undefined && causesLeft > 0) packed.cause = pack(cause, causesLeft - 1);
    return packed;
  } catch {
    // Its own getters throw: the task still has to fail, and the thread to live.
    return { thrown: 'something that cannot be read was thrown' };
  }
}

function isCloneable(value) {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

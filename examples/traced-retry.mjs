// Traces with OpenTelemetry: the hooks of async-utils feed a span; the library itself knows no tracing.
import { retry, timeout } from '@millrace/async-utils';
import { SpanStatusCode, trace } from '@opentelemetry/api';

// Stands where an OpenTelemetry SDK would: prints each span when it ends.
trace.setGlobalTracerProvider({
  getTracer: () => ({
    startSpan(name) {
      const events = [];
      return {
        addEvent: (event, attributes) => events.push({ event, ...attributes }),
        setAttribute: (key, value) => events.push({ [key]: value }),
        setStatus: ({ code }) => events.push({ status: SpanStatusCode[code] }),
        end: () => console.log(name, JSON.stringify(events)),
      };
    },
  }),
});

const tracer = trace.getTracer('example');

/** Hooks that write what happens into a span and end it. */
const tracing = (span) => ({
  onRetry: ({ attempt, delayMs, error }) =>
    span.addEvent('retry', { attempt, delayMs, reason: error.message }),
  onSuccess: ({ attempts }) => {
    span.setAttribute('attempts', attempts);
    span.setStatus({ code: SpanStatusCode.OK });
    span.end();
  },
  onError: ({ attempts }) => {
    span.setAttribute('attempts', attempts);
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  },
});

const hangs = () => timeout(new Promise(() => {}), 20);
const answers = async () => 'answer';
await retry(({ attempt }) => (attempt === 1 ? hangs() : answers()), tracing(tracer.startSpan('GET /report')));
await retry(hangs, { retries: 1, ...tracing(tracer.startSpan('GET /gone')) }).catch(() => {});

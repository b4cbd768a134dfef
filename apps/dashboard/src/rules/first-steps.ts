/** Who is shown how to begin. */
export interface Beginner {
  /** Of the server, as the browser reaches it. */
  readonly origin: string;
  readonly needsKey: boolean;
  /** false: the key is limited to one tenant, and takes no other. */
  readonly seesAll: boolean;
}

/** A command that submits a first group, to a processor that every server has. */
export function firstCommand({ origin, needsKey, seesAll }: Beginner): string {
  const body = {
    group: { id: 'first', ...(seesAll && { tenantId: 'you' }) },
    jobs: [{ processorType: 'demo.work', payload: { ms: 100 } }],
  };
  return [
    `curl ${origin}/api/bulk/groups`,
    ...(needsKey ? [`  -H "Authorization: Bearer $MILLRACE_API_KEY"`] : []),
    `  -H "content-type: application/json"`,
    `  -d '${JSON.stringify(body)}'`,
  ].join(' \\\n');
}

/**
 * The role that starts the demo; a key of one tenant never does. The server has the same rule, and a test compares the two.
 * @param isEmbedded - a server of one process, where it is no admin's matter.
 */
export const demoRole = (isEmbedded: boolean): 'operate' | 'admin' => (isEmbedded ? 'operate' : 'admin');

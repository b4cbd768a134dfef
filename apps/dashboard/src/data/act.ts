import type { CallRequest, ResponseOf, RouteId } from '@millrace/contract/server-client';
import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import { useSay } from '../parts/notices.js';
import { problemText } from '../rules/problems.js';
import { useSession } from './session.js';

/** How something is done. */
export interface ActOptions<Id extends RouteId> {
  /** What is said when it is done; undefined: nothing. */
  readonly done?: ((answer: ResponseOf<Id>, request: CallRequest<Id>) => string | undefined) | undefined;
  /** false: whoever asks shows the problem where it belongs. */
  readonly saysProblems?: boolean | undefined;
}

/** Something that changes work. What it changed is asked for again, and what came of it is said. */
export function useAct<Id extends RouteId>(
  id: Id,
  { done, saysProblems = true }: ActOptions<Id> = {},
): UseMutationResult<ResponseOf<Id>, Error, CallRequest<Id>> {
  const { client } = useSession();
  const queries = useQueryClient();
  const say = useSay();
  return useMutation<ResponseOf<Id>, Error, CallRequest<Id>>({
    mutationFn: (request) => client.call(id, request),
    onSuccess: (answer, request) => {
      const text = done?.(answer, request);
      if (text !== undefined) say('ok', text);
    },
    onError: (error) => {
      if (saysProblems) say('fail', problemText(error));
    },
    // Also after a failure: it may have happened, and only the answer was lost.
    onSettled: () => queries.invalidateQueries({ predicate: ({ queryKey: [key] }) => key !== 'getCaller' }),
  });
}

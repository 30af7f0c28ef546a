import type { JobKind } from '../platform/jobs/index.ts'
import type { Ledger } from './index.ts'

const most = 10_000

/** The job that forgets the answers of requests once their day is over. */
export const forgettingAnswers = (ledger: Pick<Ledger, 'forgetAnswers'>, everyMs: number): JobKind => ({
  name: 'ledger.forgetAnswers',
  attempts: 1,
  everyMs,
  work: async (_, { signal }) => {
    for (let gone = most; gone === most && !signal.aborted; ) gone = await ledger.forgetAnswers(most)
  },
})

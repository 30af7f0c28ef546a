import type { Database } from '../../database/index.ts'
import { addMs, type Clock, days } from '../../kernel/index.ts'
import { deleteUnusedQuotes } from './quotes-store.ts'

/** Long enough for who asks what became of a quote. */
const kept = days(1)
const most = 10_000

/** Deletes quotes that nobody used. Those that were used stay, for their exchanges name them. */
export const forgetQuotes = async (
  { database, clock }: { database: Database; clock: Clock },
  signal: AbortSignal,
): Promise<void> => {
  for (let gone = most; gone === most && !signal.aborted; )
    gone = await deleteUnusedQuotes(database, addMs(clock.now(), -kept), most)
}

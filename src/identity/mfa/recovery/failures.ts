import type { Tx } from '../../../database/index.ts'
import type { AccountId, Portal } from '../../../kernel/index.ts'
import type { Cache } from '../../../platform/cache/index.ts'
import { forgetCodeMails } from '../../codes/service.ts'
import type { Lockout } from '../../lockout/service.ts'

/** Clears what a thief's sessions have used up. Otherwise, the recovered owner could not step up. */
export const forgetFailures = async (
  { cache, lockout }: { cache: Cache; lockout: Lockout },
  tx: Tx,
  account: { portal: Portal; id: AccountId },
): Promise<void> => {
  await lockout.clear(tx, lockout.factorSubject(account.portal, account.id))
  await forgetCodeMails(cache, account)
}

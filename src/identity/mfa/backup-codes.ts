import { inTransaction } from '../../database/index.ts'
import type { Caller, Instant, RequestContext } from '../../kernel/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import { lockOwnAccount } from '../accounts/own-account.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { backupCodeDigest, mintBackupCodes } from './backup-code.ts'
import { replaceBackupCodes } from './backup-code-store.ts'

/** A new set of backup codes, which leaves in clear this once. The old set is dead. */
export const backupCodeGenerator =
  ({ database, clock, digest, randomness }: IdentityPorts, notices: Notices) =>
  async (request: RequestContext & { caller: Caller }): Promise<{ codes: string[]; generatedAt: Instant }> => {
    const codes = mintBackupCodes(randomness)
    const generatedAt = clock.now()
    await inTransaction(database, async (tx) => {
      const own = await lockOwnAccount(tx, request.caller)
      const digests = codes.map((code) => backupCodeDigest(digest, own.portal, own.id, code))
      await replaceBackupCodes(tx, own.portal, own.id, digests, generatedAt)
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: own.id })
      await notices.credentialChanged(tx, own, 'BACKUP_CODES_GENERATED', request, generatedAt)
    })
    return { codes, generatedAt }
  }

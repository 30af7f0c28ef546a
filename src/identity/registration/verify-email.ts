import { inTransaction } from '../../database/index.ts'
import { Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { recordVerifiedEmail, takeTry } from '../attempts/store.ts'
import { codeDigest } from '../codes/rules.ts'
import { spendCode } from '../codes/store.ts'
import { sessionNotFound } from '../tokens/opaque-token.ts'
import {
  assertRegistrationOpen,
  findRegistration,
  type PendingRegistration,
  type RegistrationPorts,
} from './registration-attempt.ts'

/** Every try counts for the registration and for the address, so that a new registration does not allow more guesses. */
const verifyCode = async (
  { clock, database, digest, lockout }: RegistrationPorts,
  { email, code: owner, digest: attemptDigest }: PendingRegistration,
  code: string,
  { portal }: RequestContext,
): Promise<void> => {
  const subject = lockout.registrationSubject(portal, email)
  const now = clock.now()
  await lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', async () => {
    if (!(await takeTry(database, portal, attemptDigest, now))) throw sessionNotFound('no tries left')
    await inTransaction(database, async (tx) => {
      const isRight = await spendCode(tx, owner, codeDigest(digest, owner, code), now)
      if (!isRight || !(await recordVerifiedEmail(tx, portal, attemptDigest, now)))
        throw new Refusal('AUTH.CODE_INVALID')
      await lockout.clear(tx, subject)
    })
  })
}

/** Verifies the address with the mailed code. Throws AUTH.SESSION_NOT_FOUND, AUTH.CODE_INVALID or ACCESS.RATE_LIMITED. */
export const verifyRegistrationEmail = async (
  ports: RegistrationPorts,
  { sessionId, code }: { sessionId: string; code: string },
  context: RequestContext,
): Promise<void> => {
  const { clock, database } = ports
  assertRegistrationOpen(ports, context.portal)
  const registration = await findRegistration(ports, sessionId, context, clock.now())
  try {
    await verifyCode(ports, registration, code, context)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: null, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(null, context, clock.now()), event)
    }
    throw error
  }
}

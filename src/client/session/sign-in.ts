import type { z } from 'zod'
import { completeLogin, initiateLogin, logout, sendLoginCode } from '../../identity/login/contract.ts'
import { type CodeDelivery, type MfaMethod, mfaMethod } from '../../identity/mfa/contract.ts'
import { isPorticoError, isRefusal, PorticoError } from '../errors.ts'
import type { OperationCaller, Result } from '../operation-types.ts'
import type { Session } from './index.ts'

/** What a sign-in needs: the credentials, and a way to the second factor's code. */
export interface SignIn {
  email: string
  password: string
  /**
   * Asks the user for the code; `sent` says where one went, null where it is in the user's hands already. `refused` is what
   * became of the code before, null at first.
   */
  code(sent: z.output<typeof CodeDelivery> | null, refused: PorticoError | null): Promise<string> | string
  /** How many codes are asked for, as long as they are wrong. Default 1; a sign-in takes five at most (`attemptsRemaining`). */
  attempts?: number
  /** Default: the first one that the account is offered. */
  mfaMethod?: MfaMethod
}

/** The tokens, which the client keeps by itself, their lives in seconds, the session, and whether the device is a new one. */
export type SignedIn = Result<typeof completeLogin>

const isMethod = (code: string | undefined): code is MfaMethod => mfaMethod.codes.some((known) => known === code)

const pending = (): PorticoError =>
  new PorticoError({
    status: 403,
    code: 'AUTH.PENDING_APPROVAL',
    message: 'the account waits for approval',
    requestId: '',
  })

/** Tries again with another code while the code is what is wrong, so often at most; the last refusal is the one that is thrown. */
const untilRight = async <T>(complete: (refused: PorticoError | null) => Promise<T>, attempts: number): Promise<T> => {
  let refused: PorticoError | null = null
  for (let tried = 1; ; tried++) {
    try {
      return await complete(refused)
    } catch (error) {
      if (!isPorticoError(error, 'AUTH.CODE_INVALID') || !(tried < attempts)) throw error
      refused = error
    }
  }
}

/** The login of interface.md section 3, sequence 1; the tokens are kept. */
export const signIn = async (calling: OperationCaller, session: Session, asked: SignIn): Promise<SignedIn> => {
  const { email, password } = asked
  const { data: begun } = await calling.answer(initiateLogin, { body: { email, password } })
  const { sessionId, mfaMethods } = begun
  if (sessionId === null) throw pending()
  const offered = mfaMethods[0]?.code
  const mfaMethod = asked.mfaMethod ?? (isMethod(offered) ? offered : 'EMAIL')
  const sent =
    mfaMethod === 'EMAIL' ? (await calling.answer(sendLoginCode, { body: { sessionId, mfaMethod } })).data : null
  const complete = async (refused: PorticoError | null) => {
    const code = await asked.code(sent, refused)
    return (await calling.answer(completeLogin, { body: { sessionId, mfaMethod, code } })).data
  }
  const data = await untilRight(complete, asked.attempts ?? 1)
  await session.adopt(data)
  return data
}

/** Ends the session at the gateway and forgets the tokens, also where the gateway has ended it before or is not there. */
export const signOut = async (calling: OperationCaller, session: Session): Promise<void> => {
  try {
    if (await session.tokens()) await calling.answer(logout, {})
  } catch (error) {
    if (!isRefusal(error) || error.status !== 401) throw error
  } finally {
    await session.clear()
  }
}

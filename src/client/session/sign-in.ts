import { startBrowserSession } from '../../identity/browser-sessions/contract.ts'
import { completeLogin, initiateLogin, logout, sendLoginCode } from '../../identity/login/contract.ts'
import { type MfaMethod, mfaMethod } from '../../identity/mfa/contract.ts'
import { isPorticoError, isRefusal, PorticoError } from '../errors.ts'
import type { Args, OperationCaller, Result } from '../operation-types.ts'
import type { CookieSessions } from './cookie-session.ts'
import type { ClientSession } from './session.ts'

/** Credentials, and a prompt for the second factor's code. */
export interface SignIn {
  email: string
  password: string
  /**
   * Returns the user's code. `sent` is null if the user generates it. `refused` is the refusal of the previous code, or
   * null at first.
   */
  code(sent: Result<typeof sendLoginCode> | null, refused: PorticoError | null): Promise<string> | string
  /** Maximum number of codes to try. Default: 1. The gateway allows five. */
  attempts?: number
  /** Default: the account's first method. */
  mfaMethod?: MfaMethod
}

/** The tokens with their lifetimes in seconds, the session, and whether the device is new. */
export type SignedIn = Result<typeof completeLogin>

export async function signIn(caller: OperationCaller, session: ClientSession, input: SignIn): Promise<SignedIn> {
  const data = await enterCode(caller, input, async (body) => (await caller.answer(completeLogin, { body })).data)
  await session.adopt(data)
  return data
}

/** The session and its lifetimes in seconds. No token. */
export type StartedBrowserSession = Result<typeof startBrowserSession>

export async function signInByCookie(
  caller: OperationCaller,
  session: CookieSessions,
  input: SignIn,
): Promise<StartedBrowserSession> {
  const data = await enterCode(caller, input, async (body) => (await caller.answer(startBrowserSession, { body })).data)
  await session.started()
  return data
}

/** Deletes the tokens even if the session has ended or the request fails. */
export async function signOut(caller: OperationCaller, session: ClientSession): Promise<void> {
  try {
    if (await session.tokens()) await caller.answer(logout, {})
  } catch (error) {
    if (!isRefusal(error) || error.status !== 401) throw error
  } finally {
    await session.clear()
  }
}

/** Throws the last refusal. */
export async function retryWrongCode<T>(
  complete: (refused: PorticoError | null) => Promise<T>,
  attempts: number,
): Promise<T> {
  let refused: PorticoError | null = null
  for (let attempt = 1; ; attempt++) {
    try {
      return await complete(refused)
    } catch (error) {
      if (!isPorticoError(error, 'AUTH.CODE_INVALID') || !(attempt < attempts)) throw error
      refused = error
    }
  }
}

async function enterCode<T>(
  caller: OperationCaller,
  input: SignIn,
  finish: (body: Args<typeof completeLogin>['body']) => Promise<T>,
): Promise<T> {
  const { email, password } = input
  const { data: login } = await caller.answer(initiateLogin, { body: { email, password } })
  const { sessionId, mfaMethods } = login
  if (sessionId === null) throw pendingApproval()
  const offered = mfaMethods[0]?.code
  const mfaMethod = input.mfaMethod ?? (isMethod(offered) ? offered : 'EMAIL')
  const sent =
    mfaMethod === 'EMAIL' ? (await caller.answer(sendLoginCode, { body: { sessionId, mfaMethod } })).data : null
  const complete = async (refused: PorticoError | null) => {
    const code = await input.code(sent, refused)
    return finish({ sessionId, mfaMethod, code })
  }
  return retryWrongCode(complete, input.attempts ?? 1)
}

function pendingApproval(): PorticoError {
  return new PorticoError({
    status: 403,
    code: 'AUTH.PENDING_APPROVAL',
    message: 'the account is pending approval',
    requestId: '',
  })
}

function isMethod(code: string | undefined): code is MfaMethod {
  return mfaMethod.codes.some((known) => known === code)
}

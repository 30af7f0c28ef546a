import type { sendLoginCode } from '../../identity/login/contract.ts'
import type { MfaMethod } from '../../identity/mfa/contract.ts'
import { isPorticoError, PorticoError } from '../errors.ts'
import type { OperationCaller, Result } from '../operation-types.ts'
import type { SessionMode } from '../options.ts'
import type { Completion, SessionPart, SignInOperations } from './modes.ts'

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

/** Signs in. Stores the tokens, which the client renews, or has the gateway set the cookie. Sends mails in the caller's locale. */
export function signIn<M extends SessionMode>(
  { caller, part }: { caller: OperationCaller; part: SessionPart<M> },
  operations: SignInOperations,
  input: SignIn,
): ReturnType<SessionPart<M>['complete']> {
  return enterCode(caller, operations, input, (body) => part.complete(caller, operations, body))
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
  { initiateLogin, sendLoginCode }: SignInOperations,
  input: SignIn,
  finish: (body: Completion) => Promise<T>,
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

const knownMethods: Readonly<Record<MfaMethod, true>> = { EMAIL: true, OTP: true, BACKUP_CODE: true, PASSKEY: true }

function pendingApproval(): PorticoError {
  return new PorticoError({
    status: 403,
    code: 'AUTH.PENDING_APPROVAL',
    message: 'the account is pending approval',
    requestId: '',
  })
}

/** A newer gateway can offer further methods. */
function isMethod(code: string | undefined): code is MfaMethod {
  return code !== undefined && Object.hasOwn(knownMethods, code)
}

import type { sendLoginCode } from '../../identity/login/contract.ts'
import type { MfaMethod } from '../../identity/mfa/contract.ts'
import { isPorticoError, PorticoError, passkeysUnavailable } from '../errors.ts'
import type { OperationCaller, Result } from '../operation-types.ts'
import type { SessionMode } from '../options.ts'
import type { PasskeyAssertion, Passkeys } from '../passkeys/feature.ts'
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
  /** Default: a passkey if the client and the account have one, or else the account's first method. */
  mfaMethod?: MfaMethod
  /**
   * Returns whether to use a passkey. Called again after each failure. Default: one attempt, then a code. An error that it
   * throws rejects the sign-in.
   */
  usePasskey?(failed: PorticoError | null): Promise<boolean> | boolean
}

/** Signs in. Stores the tokens, which the client renews, or has the gateway set the cookie. Sends mails in the caller's locale. */
export function signIn<M extends SessionMode>(
  { caller, part, passkeys }: { caller: OperationCaller; part: SessionPart<M>; passkeys: Passkeys | null },
  operations: SignInOperations,
  input: SignIn,
): ReturnType<SessionPart<M>['complete']> {
  const finish = (body: Completion) =>
    part.complete({
      cookie: async () => (await caller.answer(operations.startBrowserSession, { body })).data,
      tokens: async () => (await caller.answer(operations.completeLogin, { body })).data,
    })
  passkeys?.abandon()
  return proveFactor({ caller, passkeys, finish }, operations, input)
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

interface Prover<T> {
  caller: OperationCaller
  passkeys: Passkeys | null
  finish(body: Completion): Promise<T>
}

async function proveFactor<T>(
  { caller, passkeys, finish }: Prover<T>,
  { initiateLogin, sendLoginCode }: SignInOperations,
  input: SignIn,
): Promise<T> {
  const { email, password } = input
  const { data: login } = await caller.answer(initiateLogin, { body: { email, password } })
  const { sessionId, mfaMethods } = login
  if (sessionId === null) throw pendingApproval()
  const offered = mfaMethods.map(({ code }) => code)
  const others = offered.filter(isCodeMethod)
  const hasPasskey = offered.includes('PASSKEY')
  const mfaMethod = input.mfaMethod ?? others[0] ?? (hasPasskey ? 'PASSKEY' : 'EMAIL')
  if (passkeys && hasPasskey && (input.mfaMethod ?? 'PASSKEY') === 'PASSKEY') {
    const hasOther = mfaMethod !== 'PASSKEY'
    const isWanted = (failed: PorticoError | null) => input.usePasskey?.(failed) ?? failed === null
    const verify = (passkey: PasskeyAssertion) => finish({ sessionId, mfaMethod: 'PASSKEY', passkey })
    const proven = await passkeys.prove(caller, sessionId, { isWanted, hasOther, verify })
    if (proven) return proven.done
  }
  if (mfaMethod === 'PASSKEY') throw passkeysUnavailable()
  const sent =
    mfaMethod === 'EMAIL' ? (await caller.answer(sendLoginCode, { body: { sessionId, mfaMethod } })).data : null
  const complete = async (refused: PorticoError | null) => {
    const code = await input.code(sent, refused)
    return finish({ sessionId, mfaMethod, code })
  }
  return retryWrongCode(complete, input.attempts ?? 1)
}

type CodeMethod = Exclude<MfaMethod, 'PASSKEY'>

const codeMethods: Readonly<Record<CodeMethod, true>> = { EMAIL: true, OTP: true, BACKUP_CODE: true }

function pendingApproval(): PorticoError {
  return new PorticoError({
    status: 403,
    code: 'AUTH.PENDING_APPROVAL',
    message: 'the account is pending approval',
    requestId: '',
  })
}

/** A newer gateway can offer further methods. */
function isCodeMethod(code: string): code is CodeMethod {
  return Object.hasOwn(codeMethods, code)
}

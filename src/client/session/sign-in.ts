import type { sendLoginCode } from '../../identity/login/contract.ts'
import type { MfaMethod } from '../../identity/mfa/contract.ts'
import { PorticoError, passkeysUnavailable } from '../errors.ts'
import type { OperationCaller, Result } from '../operation-types.ts'
import type { SessionMode } from '../options.ts'
import type { PasskeyAssertion, Passkeys } from '../passkeys/feature.ts'
import { type AskedFactor, firstMethod, isCodeMethod, type OtherFactor, verifyFactor } from './factor.ts'
import type { Completion, SessionPart, SignInOperations } from './modes.ts'

/** Credentials, and a prompt for the second factor's code. */
export interface SignIn {
  email: string
  password: string
  /**
   * Returns the user's code, or another factor that the user chose. `sent` is null if the user generates the code. `refused`
   * is the refusal of the previous code, or null at first.
   */
  code(
    sent: Result<typeof sendLoginCode> | null,
    refused: PorticoError | null,
    factor: AskedFactor,
  ): Promise<string | OtherFactor> | string | OtherFactor
  /** Maximum number of codes to try. Default: 1. The gateway allows five. */
  attempts?: number
  /** Default: a passkey if the client and the account have one, then the authenticator, then the account's first method. */
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
  const mfaMethod = input.mfaMethod ?? firstMethod(others) ?? (hasPasskey ? 'PASSKEY' : 'EMAIL')
  const finishByPasskey = (passkey: PasskeyAssertion) => finish({ sessionId, mfaMethod: 'PASSKEY', passkey })
  if (passkeys && hasPasskey && (input.mfaMethod ?? 'PASSKEY') === 'PASSKEY') {
    const hasOther = mfaMethod !== 'PASSKEY'
    const isWanted = (failed: PorticoError | null) => input.usePasskey?.(failed) ?? failed === null
    const proven = await passkeys.prove(caller, sessionId, { isWanted, hasOther, verify: finishByPasskey })
    if (proven) return proven.done
  }
  if (mfaMethod === 'PASSKEY') throw passkeysUnavailable()
  const verifyPasskey = async (): Promise<T> => {
    const isWanted = (failed: PorticoError | null) => failed === null
    const proven = await passkeys?.prove(caller, sessionId, { isWanted, hasOther: false, verify: finishByPasskey })
    if (!proven) throw passkeysUnavailable()
    return proven.done
  }
  return verifyFactor(mfaMethod, {
    methods: passkeys && hasPasskey ? [...others, 'PASSKEY'] : others,
    attempts: input.attempts ?? 1,
    send: async () => (await caller.answer(sendLoginCode, { body: { sessionId, mfaMethod: 'EMAIL' } })).data,
    hasEarlierMail: false,
    ask: (sent, refused, factor) => input.code(sent, refused, factor),
    verifyCode: (method, code) => finish({ sessionId, mfaMethod: method, code }),
    verifyPasskey,
  })
}

function pendingApproval(): PorticoError {
  return new PorticoError({
    status: 403,
    code: 'AUTH.PENDING_APPROVAL',
    message: 'the account is pending approval',
    requestId: '',
  })
}

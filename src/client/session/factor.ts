import type { sendLoginCode } from '../../identity/login/contract.ts'
import type { MfaMethod } from '../../identity/mfa/contract.ts'
import { isPorticoError, type PorticoError } from '../errors.ts'
import type { Result } from '../operation-types.ts'

/** The factor that a prompt asks for, and those that the user can choose instead. */
export interface AskedFactor {
  mfaMethod: MfaMethod
  mfaMethods: readonly MfaMethod[]
}

/** The choice of another factor. EMAIL sends a new code, PASSKEY asks the browser. */
export interface OtherFactor {
  mfaMethod: MfaMethod
}

export type CodeMethod = Exclude<MfaMethod, 'PASSKEY'>

type SentCode = Result<typeof sendLoginCode>

interface FactorSteps<T> {
  methods: readonly MfaMethod[]
  /** Maximum number of codes. */
  attempts: number
  /** Mails a code. */
  send(): Promise<SentCode>
  /** Whether the code of a mail from before can be valid, so that the user is asked even if no new one can be mailed yet. */
  hasEarlierMail: boolean
  ask(
    sent: SentCode | null,
    refused: PorticoError | null,
    factor: AskedFactor,
  ): Promise<string | OtherFactor> | string | OtherFactor
  verifyCode(mfaMethod: CodeMethod, code: string): Promise<T>
  verifyPasskey(): Promise<T>
}

/** Asks until a factor is accepted. Throws the last refusal of a code. */
export async function verifyFactor<T>(first: CodeMethod, steps: FactorSteps<T>): Promise<T> {
  let mfaMethod = first
  let sent: SentCode | null = null
  let refused: PorticoError | null = null
  let codes = 0
  try {
    if (first === 'EMAIL') sent = await steps.send()
  } catch (error) {
    if (!steps.hasEarlierMail || !isPorticoError(error, 'ACCESS.RATE_LIMITED')) throw error
    refused = error
  }
  for (;;) {
    const answer = await steps.ask(mfaMethod === 'EMAIL' ? sent : null, refused, {
      mfaMethod,
      mfaMethods: steps.methods,
    })
    refused = null
    try {
      if (typeof answer === 'string') return await steps.verifyCode(mfaMethod, answer)
      if (answer.mfaMethod === 'PASSKEY') return await steps.verifyPasskey()
      if (answer.mfaMethod !== 'EMAIL') mfaMethod = answer.mfaMethod
      else {
        // If the gateway refuses another mail so soon, the code of the previous one is still valid.
        if (sent !== null || steps.hasEarlierMail) mfaMethod = 'EMAIL'
        sent = await steps.send()
        mfaMethod = 'EMAIL'
      }
    } catch (error) {
      const isFinal = typeof answer === 'string' ? !isWrongCode(error) || ++codes >= steps.attempts : !isPassing(error)
      if (isFinal || !isPorticoError(error)) throw error
      refused = error
    }
  }
}

/** The authenticator needs no mail. */
export function firstMethod(methods: readonly CodeMethod[]): CodeMethod | undefined {
  return methods.includes('OTP') ? 'OTP' : methods[0]
}

/** A newer gateway can offer further methods. */
export function isCodeMethod(code: string): code is CodeMethod {
  return Object.hasOwn(codeMethods, code)
}

const codeMethods: Readonly<Record<CodeMethod, true>> = { EMAIL: true, OTP: true, BACKUP_CODE: true }

function isWrongCode(error: unknown): boolean {
  return isPorticoError(error, 'AUTH.CODE_INVALID')
}

/** Whether the user can continue with another factor. */
function isPassing(error: unknown): boolean {
  return isPorticoError(
    error,
    'ACCESS.RATE_LIMITED',
    'AUTH.MFA_METHOD_NOT_ALLOWED',
    'AUTH.PASSKEY_INVALID',
    'CLIENT.PASSKEY_CANCELLED',
    'CLIENT.PASSKEY_UNAVAILABLE',
    'CLIENT.NETWORK',
    'CLIENT.TIMEOUT',
  )
}

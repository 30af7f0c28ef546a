import { invalid } from '../../kernel/index.ts'
import type { AssertionCredential } from '../webauthn/contract.ts'
import type { FactorFields, MfaMethod } from './contract.ts'

export interface MailedCode {
  method: 'EMAIL'
  code: string
}

export interface StrongCode {
  method: 'OTP' | 'BACKUP_CODE'
  code: string
}

export interface PresentedPasskey {
  method: 'PASSKEY'
  credential: AssertionCredential
}

/** Does not depend on the mailbox. */
export type StrongFactor = StrongCode | PresentedPasskey

/** A factor as a request proves it. */
export type PresentedFactor = MailedCode | StrongFactor

/** The contract has checked that the proof matches the method. */
export function toPresentedFactor(body: FactorFields & { mfaMethod: MfaMethod }): PresentedFactor {
  const { mfaMethod: method } = body
  return method === 'EMAIL' ? { method, code: codeIn(body) } : toStrongFactor(body, method)
}

export function toStrongFactor(body: FactorFields, method: StrongFactor['method']): StrongFactor {
  if (method !== 'PASSKEY') return { method, code: codeIn(body) }
  if (!body.passkey) throw invalid('passkey')
  return { method, credential: body.passkey }
}

function codeIn({ code }: FactorFields): string {
  if (code === undefined) throw invalid('code')
  return code
}

import type { Database } from '../../database/index.ts'
import {
  createHandlerTable,
  type HandlerTable,
  type Locale,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import { ownAccount } from '../accounts/own-account.ts'
import { backupCodeCount } from './backup-code.ts'
import { backupCodeStatus } from './backup-code-store.ts'
import type { backupCodeGenerator } from './backup-codes.ts'
import * as contract from './contract.ts'
import { type MfaMethod, mfaMethod } from './contract.ts'
import { type MfaEntry, mfaMethods } from './methods.ts'
import type { otpChanges } from './otp.ts'
import type { stepUp, stepUpSender } from './step-up.ts'

interface Parts {
  database: Database
  words: Words
  generateBackupCodes: ReturnType<typeof backupCodeGenerator>
  otp: ReturnType<typeof otpChanges>
  sendStepUpCode: ReturnType<typeof stepUpSender>
  stepUp: ReturnType<typeof stepUp>
  stepUpMs: number
}

/** An account's second factors: interface.md 2.7 and 4.4, completions.md, Security. */
export const mfaHandlers = (parts: Parts): HandlerTable => {
  const { database, words, otp } = parts
  const coded = (method: MfaMethod, locale: Locale) => words.coded(mfaMethod, method, locale)
  const render = ({ method, verifiedAt, ...flags }: MfaEntry, locale: Locale) => ({
    mfaMethod: coded(method, locale),
    ...flags,
    verifiedAt: toIsoOrNull(verifiedAt),
  })
  type Request = Parameters<typeof otp.setup>[0]
  const methodsOf = async ({ caller, locale }: Request) => {
    const methods = await mfaMethods(database, await ownAccount(database, caller))
    return methods.map((method) => render(method, locale))
  }
  const otpEntry = async (request: Request) => {
    const methods = await mfaMethods(database, await ownAccount(database, request.caller))
    const found = methods.find(({ method }) => method === 'OTP')
    if (!found) throw new Error('the authenticator is always listed')
    return render(found, request.locale)
  }

  return createHandlerTable(contract, {
    listMfaMethods: methodsOf,
    readBackupCodeStatus: ({ caller: { portal, accountId } }) => backupCodeStatus(database, portal, accountId),
    generateBackupCodes: async (request) => {
      const { codes, generatedAt } = await parts.generateBackupCodes(request)
      const counts = { totalGenerated: backupCodeCount, remainingCount: backupCodeCount }
      return { codes, ...counts, generatedAt: toIso(generatedAt) }
    },
    setupOtp: (request) => otp.setup(request),
    verifyOtp: async (request) => {
      await otp.verify(request, request.body.code)
      return otpEntry(request)
    },
    revokeOtp: async (request) => {
      await otp.revoke(request, request.body?.code)
      return otpEntry(request)
    },
    sendStepUpCode: async (request) => ({
      mfaMethod: coded(request.body.mfaMethod, request.locale),
      ...(await parts.sendStepUpCode(request)),
    }),
    stepUp: async (request) => {
      const { mfaMethod: method, code } = request.body
      await parts.stepUp(request, { method, code })
      return { success: true, expiresIn: Math.floor(parts.stepUpMs / 1_000) }
    },
  })
}

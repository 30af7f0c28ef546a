import { createHandlerTable, type HandlerTable, toIso, withSessionCookie } from '../../kernel/index.ts'
import { ownAccount } from '../accounts/service.ts'
import type { CallerContext } from '../ports.ts'
import { revokeAuthenticator, setupAuthenticator, verifyAuthenticator } from './authenticator.ts'
import { backupCodeCount, generateBackupCodes } from './backup-codes.ts'
import * as contract from './contract.ts'
import { toPresentedFactor } from './presented.ts'
import { createStepUpOptions, listMfaMethods, type MfaPorts, sendStepUpCode, stepUp } from './service.ts'
import { readBackupCodeCounts } from './store.ts'
import { toMethodView, toMfaEntryView } from './view.ts'

export function mfaHandlers(ports: MfaPorts): HandlerTable {
  const { database, words } = ports
  const listEntries = async ({ caller, locale }: CallerContext) => {
    const entries = await listMfaMethods(ports, await ownAccount(database, caller))
    return entries.map((entry) => toMfaEntryView(words, entry, locale))
  }
  const authenticatorEntry = async ({ caller, locale }: CallerContext) => {
    const entries = await listMfaMethods(ports, await ownAccount(database, caller))
    const found = entries.find(({ method }) => method === 'OTP')
    if (!found) throw new Error('the methods of an account contain no authenticator entry')
    return toMfaEntryView(words, found, locale)
  }

  return createHandlerTable(contract, {
    listMfaMethods: listEntries,
    readBackupCodeStatus: ({ caller: { portal, accountId } }) => readBackupCodeCounts(database, portal, accountId),
    generateBackupCodes: async (request) => {
      const { codes, generatedAt } = await generateBackupCodes(ports, request)
      const counts = { totalGenerated: backupCodeCount, remainingCount: backupCodeCount }
      return { codes, ...counts, generatedAt: toIso(generatedAt) }
    },
    setupOtp: (request) => setupAuthenticator(ports, request),
    verifyOtp: async (request) => {
      await verifyAuthenticator(ports, request.body.code, request)
      return authenticatorEntry(request)
    },
    revokeOtp: async (request) => {
      await revokeAuthenticator(ports, request.body?.code, request)
      return authenticatorEntry(request)
    },
    sendStepUpCode: async (request) => ({
      mfaMethod: toMethodView(words, request.body.mfaMethod, request.locale),
      ...(await sendStepUpCode(ports, request.body.purpose, request)),
    }),
    createStepUpPasskeyOptions: (request) => createStepUpOptions(ports, request.body?.purpose, request),
    stepUp: async (request) => {
      const cookie = await stepUp(ports, toPresentedFactor(request.body), request.body.purpose, request)
      const reply = { success: true, expiresIn: Math.floor(ports.settings.mfa.stepUpMs / 1_000) }
      return withSessionCookie(reply, cookie)
    },
  })
}

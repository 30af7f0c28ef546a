import { createHandlerTable, type HandlerTable, toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { rulesOf } from '../settings.ts'
import { toBase64url } from '../webauthn/encoding.ts'
import type { Passkey } from '../webauthn/store.ts'
import * as contract from './contract.ts'
import { deletePasskey, listPasskeys, registerPasskey, renamePasskey, startRegistration } from './service.ts'

export function passkeyHandlers(ports: MfaPorts): HandlerTable {
  return createHandlerTable(contract, {
    listPasskeys: async (request) => (await listPasskeys(ports, request)).map(toPasskeyView),
    createPasskeyOptions: (request) => startRegistration(ports, request.body?.enrollmentToken, request),
    registerPasskey: async (request) => toPasskeyView(await registerPasskey(ports, request.body, request)),
    renamePasskey: async (request) => {
      const { passkeyBizId: passkeyId, name } = request.body
      return toPasskeyView(await renamePasskey(ports, { passkeyId, name }, request))
    },
    deletePasskey: async (request) => {
      const { portal, credentialId } = await deletePasskey(ports, request.body.passkeyBizId, request)
      const rpId = rulesOf(ports.settings, portal).passkeys?.rpId ?? null
      return { success: true, credentialId: toBase64url(credentialId), rpId }
    },
  })
}

export function toPasskeyView({ id, createdAt, lastUsedAt, suspendedAt, ...passkey }: Passkey) {
  const { name, deviceType, backedUp, transports, aaguid } = passkey
  const times = {
    createdAt: toIso(createdAt),
    lastUsedAt: toIsoOrNull(lastUsedAt),
    suspendedAt: toIsoOrNull(suspendedAt),
  }
  const credentialId = toBase64url(passkey.credentialId)
  return { passkeyBizId: id, credentialId, name, deviceType, backedUp, transports, aaguid, ...times }
}

import { createHandlerTable, type HandlerTable, Refusal } from '../../kernel/index.ts'
import type { MfaPorts } from '../mfa/service.ts'
import * as contract from './contract.ts'

export function passkeyHandlers(_: MfaPorts): HandlerTable {
  const notAvailable = () => {
    throw new Refusal('AUTH.PASSKEYS_NOT_AVAILABLE')
  }
  return createHandlerTable(contract, {
    listPasskeys: async () => [],
    createPasskeyOptions: notAvailable,
    registerPasskey: notAvailable,
    renamePasskey: notAvailable,
    deletePasskey: notAvailable,
  })
}

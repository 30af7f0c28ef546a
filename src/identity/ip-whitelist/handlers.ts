import { createHandlerTable, type HandlerTable, toIso, toIsoOrNull } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import {
  disableWhitelist,
  enableWhitelist,
  getWhitelist,
  replaceWhitelist,
  type Whitelist,
  type WhitelistPorts,
} from './service.ts'

export function ipWhitelistHandlers(ports: WhitelistPorts): HandlerTable {
  return createHandlerTable(contract, {
    readIpWhitelist: async ({ caller }) => toWhitelistView(await getWhitelist(ports, caller)),
    replaceIpWhitelist: async (request) =>
      toWhitelistView(await replaceWhitelist(ports, request.body.addresses, request)),
    enableIpWhitelist: async (request) => {
      await enableWhitelist(ports, { force: request.body?.force ?? false }, request)
      return null
    },
    disableIpWhitelist: async (request) => {
      await disableWhitelist(ports, request)
      return null
    },
  })
}

function toWhitelistView({ enabled, entries }: Whitelist) {
  return {
    enabled,
    entries: entries.map(({ id, createdAt, lastMatchedAt, ...entry }) => ({
      bizId: id,
      ...entry,
      createdAt: toIso(createdAt),
      lastMatchedAt: toIsoOrNull(lastMatchedAt),
    })),
  }
}

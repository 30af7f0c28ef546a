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

const toWhitelistView = ({ enabled, entries }: Whitelist) => ({
  enabled,
  entries: entries.map(({ id, createdAt, lastMatchedAt, ...entry }) => ({
    bizId: id,
    ...entry,
    createdAt: toIso(createdAt),
    lastMatchedAt: toIsoOrNull(lastMatchedAt),
  })),
})

export const ipWhitelistHandlers = (ports: WhitelistPorts): HandlerTable =>
  createHandlerTable(contract, {
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

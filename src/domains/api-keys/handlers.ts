import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  type Instant,
  type Locale,
  mapPage,
  parseInstant,
  parseInterval,
  type Request,
  type RequestContext,
  toIso,
  toIsoOrNull,
  type Words,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { apiKeyStatus } from './contract.ts'
import { type ApiKeyCommand, statusAt } from './rules.ts'
import {
  type ApiKeyServicePorts,
  changeApiKeyStatus,
  createApiKey,
  grantablePermissions,
  listApiKeys,
  readApiKey,
} from './service.ts'
import type { ApiKeyRow } from './store.ts'

/** Returns the view of an API key, without its secret. The status EXPIRED depends on `at`. */
const toApiKeyView = (words: Words, row: ApiKeyRow, at: Instant, locale: Locale) => ({
  bizId: row.id,
  workspaceBizId: row.workspaceId,
  apiKeyName: row.name,
  keyPrefix: row.prefix,
  keyLast4: row.last4,
  apiKeyStatus: words.coded(apiKeyStatus, statusAt(row, at), locale),
  permissionCodes: row.permissionCodes,
  ipAllowlist: row.ipAllowlist,
  expiresAt: toIsoOrNull(row.expiresAt),
  lastUsedAt: toIsoOrNull(row.lastUsedAt),
  lastUsedIp: row.lastUsedIp,
  createdBy: row.createdBy,
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})

type StatusRequest =
  | Request<typeof contract.enableApiKey>
  | Request<typeof contract.disableApiKey>
  | Request<typeof contract.deleteApiKey>

export const createHandlers = (ports: ApiKeyServicePorts & { words: Words }): HandlerTable => {
  const toView = (row: ApiKeyRow, { receivedAt, locale }: RequestContext) =>
    toApiKeyView(ports.words, row, receivedAt, locale)

  const changeStatus = async (request: StatusRequest, command: ApiKeyCommand) => {
    const input = { id: bizId<'apiKey'>(request.body.apiKeyBizId), command }
    const context = { auditContext: auditContextOf(request), access: request.workspace }
    return toView(await changeApiKeyStatus(ports, input, context), request)
  }

  return createHandlerTable(contract, {
    listApiKeys: async (request) => {
      const { apiKeyStatus: status, keyPrefix: prefix, startTime, endTime, ...paging } = request.query
      const filters = { status, prefix, workspaceId: request.workspace.id, ...parseInterval({ startTime, endTime }) }
      const keys = await listApiKeys(ports, { ...paging, ...filters }, request.receivedAt)
      return mapPage(keys, (row) => toView(row, request))
    },
    listApiKeyPermissions: async ({ workspace }) => grantablePermissions(ports, workspace),
    readApiKey: async (request) =>
      toView(await readApiKey(ports, request.workspace.id, bizId(request.params.api_key_id)), request),
    createApiKey: async (request) => {
      const { apiKeyName: name, permissionCodes, ipAllowlist = [], expiresAt } = request.body
      const input = { name, permissionCodes, ipAllowlist, expiresAt: parseInstant(expiresAt) ?? null }
      const context = { auditContext: auditContextOf(request), access: request.workspace }
      const { row, key } = await createApiKey(ports, input, context)
      return { ...toView(row, request), secret: key }
    },
    enableApiKey: (request) => changeStatus(request, 'enable'),
    disableApiKey: (request) => changeStatus(request, 'disable'),
    deleteApiKey: (request) => changeStatus(request, 'delete'),
  })
}

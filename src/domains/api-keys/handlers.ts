import {
  bizId,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  type Instant,
  type Locale,
  mapPage,
  type Permission,
  parseInstant,
  parseInterval,
  type RequestContext,
  toIso,
  toIsoOrNull,
  type Words,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { apiKeyStatus } from './contract.ts'
import { statusAt } from './rules.ts'
import type { ApiKeyCommand, ApiKeyService } from './service.ts'
import type { ApiKeyRow } from './store.ts'

type CommandRequest = RequestContext & { caller: Caller; workspace: WorkspaceAccess; body: { apiKeyBizId: string } }

export const createHandlers = (
  service: ApiKeyService,
  words: Words,
  grantable: readonly Permission[],
): HandlerTable => {
  const reply = (row: ApiKeyRow, { locale, receivedAt }: { locale: Locale; receivedAt: Instant }) => ({
    bizId: row.id,
    workspaceBizId: row.workspaceId,
    apiKeyName: row.name,
    keyPrefix: row.prefix,
    keyLast4: row.last4,
    apiKeyStatus: words.coded(apiKeyStatus, statusAt(row, receivedAt), locale),
    permissionCodes: row.permissionCodes,
    ipAllowlist: row.ipAllowlist,
    expiresAt: toIsoOrNull(row.expiresAt),
    lastUsedAt: toIsoOrNull(row.lastUsedAt),
    lastUsedIp: row.lastUsedIp,
    createdBy: row.createdBy,
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  })
  const command = (name: ApiKeyCommand) => async (request: CommandRequest) => {
    const id = bizId<'apiKey'>(request.body.apiKeyBizId)
    return reply(await service.command(actOf(request), request.workspace, id, name), request)
  }

  return createHandlerTable(contract, {
    listApiKeys: async (request) => {
      const { apiKeyStatus, keyPrefix, startTime, endTime, ...paging } = request.query
      const filters = { status: apiKeyStatus, prefix: keyPrefix, ...parseInterval({ startTime, endTime }) }
      const query = { ...paging, ...filters, workspaceId: request.workspace.id }
      return mapPage(await service.list(query, request.receivedAt), (row) => reply(row, request))
    },
    listApiKeyPermissions: async ({ workspace }) => grantable.filter((code) => workspace.permissions.has(code)),
    readApiKey: async (request) =>
      reply(await service.read(request.workspace.id, bizId(request.params.api_key_id)), request),
    createApiKey: async (request) => {
      const { apiKeyName, permissionCodes, ipAllowlist, expiresAt } = request.body
      const limits = { ipAllowlist: ipAllowlist ?? [], expiresAt: parseInstant(expiresAt) ?? null }
      const asked = { name: apiKeyName, permissionCodes, ...limits }
      const { row, key } = await service.create(actOf(request), request.workspace, asked)
      return { ...reply(row, request), secret: key }
    },
    enableApiKey: command('enable'),
    disableApiKey: command('disable'),
    deleteApiKey: command('delete'),
  })
}

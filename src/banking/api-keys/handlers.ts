import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  parseInstant,
  parseInterval,
  type Request,
  type RequestContext,
  type Words,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { type ApiKeyEnding, type EndingPorts, enableEndedKey, endApiKey } from './operator-commands.ts'
import { changeOperatorKey, createOperatorKey, listOperatorKeys } from './operator-keys/service.ts'
import type { OperatorKeyRow } from './operator-keys/store.ts'
import { type ApiKeyCommand, replacesWhitelist } from './rules.ts'
import {
  type ApiKeyServicePorts,
  changeApiKeyStatus,
  createApiKey,
  grantablePermissions,
  listApiKeys,
  readApiKey,
} from './service.ts'
import type { ApiKeyRow } from './store.ts'
import { toApiKeyView, toOperatorKeyView } from './view.ts'

type StatusRequest =
  | Request<typeof contract.enableApiKey>
  | Request<typeof contract.disableApiKey>
  | Request<typeof contract.deleteApiKey>

type EndingRequest = Request<typeof contract.disableAnyApiKey> | Request<typeof contract.deleteAnyApiKey>

type OperatorKeyRequest =
  | Request<typeof contract.enableOperatorApiKey>
  | Request<typeof contract.disableOperatorApiKey>
  | Request<typeof contract.deleteOperatorApiKey>

export type HandlerPorts = ApiKeyServicePorts & EndingPorts & { words: Words }

export function createHandlers(ports: HandlerPorts): HandlerTable {
  const toView = (row: ApiKeyRow, { receivedAt, locale }: RequestContext) =>
    toApiKeyView(ports, row, receivedAt, locale)

  const changeStatus = async (request: StatusRequest, command: ApiKeyCommand) => {
    const input = { id: bizId<'apiKey'>(request.body.apiKeyBizId), command }
    const context = {
      caller: request.caller,
      auditContext: auditContextOf(request),
      access: request.workspace,
    }
    return toView(await changeApiKeyStatus(ports, input, context), request)
  }

  const end = async (request: EndingRequest, ending: ApiKeyEnding) => {
    const input = { id: bizId<'apiKey'>(request.params.api_key_id), ending, reason: request.body.reason }
    return toView(await endApiKey(ports, input, auditContextOf(request)), request)
  }

  const toOperatorView = (row: OperatorKeyRow, { receivedAt, locale }: RequestContext) =>
    toOperatorKeyView(ports, row, receivedAt, locale)

  const changeOperator = async (request: OperatorKeyRequest, command: ApiKeyCommand) => {
    const input = { id: bizId<'operatorApiKey'>(request.params.api_key_id), command, reason: request.body.reason }
    const context = { caller: request.caller, auditContext: auditContextOf(request) }
    return toOperatorView(await changeOperatorKey(ports, input, context), request)
  }

  return createHandlerTable(contract, {
    listApiKeys: async (request) => {
      const query = { ...toApiKeyQuery(request.query), workspaceId: request.workspace.id }
      return mapPage(await listApiKeys(ports, query, request.receivedAt), (row) => toView(row, request))
    },
    listAllApiKeys: async (request) => {
      const { workspaceId, createdBy, ...filters } = request.query
      const query = {
        ...toApiKeyQuery(filters),
        workspaceId: workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId),
        createdBy: createdBy === undefined ? undefined : bizId<'account'>(createdBy),
      }
      return mapPage(await listApiKeys(ports, query, request.receivedAt), (row) => toView(row, request))
    },
    listApiKeyPermissions: async ({ workspace }) => grantablePermissions(ports, workspace),
    readApiKey: async (request) =>
      toView(await readApiKey(ports, request.workspace.id, bizId(request.params.api_key_id)), request),
    createApiKey: async (request) => {
      const { apiKeyName, permissionCodes, ipAllowlist = [], expiresAt, ...credential } = request.body
      const input = { apiKeyName, permissionCodes, ipAllowlist, expiresAt: parseInstant(expiresAt) ?? null, credential }
      const context = { caller: request.caller, auditContext: auditContextOf(request), access: request.workspace }
      const { row, secret } = await createApiKey(ports, input, context)
      return { ...toView(row, request), secret, replacesIpWhitelist: replacesWhitelist(row, ports.settings) }
    },
    enableApiKey: (request) => changeStatus(request, 'enable'),
    disableApiKey: (request) => changeStatus(request, 'disable'),
    deleteApiKey: (request) => changeStatus(request, 'delete'),
    disableAnyApiKey: (request) => end(request, 'disable'),
    enableAnyApiKey: async (request) => {
      const input = { id: bizId<'apiKey'>(request.params.api_key_id), reason: request.body.reason }
      return toView(await enableEndedKey(ports, input, auditContextOf(request)), request)
    },
    deleteAnyApiKey: (request) => end(request, 'delete'),
    listOperatorApiKeys: async (request) => {
      const keys = await listOperatorKeys(ports, toApiKeyQuery(request.query), request.receivedAt)
      return mapPage(keys, (row) => toOperatorView(row, request))
    },
    createOperatorApiKey: async (request) => {
      const {
        apiKeyName,
        permissionCodes,
        ipAllowlist = [],
        expiresAt,
        providerId = null,
        ...credential
      } = request.body
      const named = { apiKeyName, permissionCodes, ipAllowlist, expiresAt: parseInstant(expiresAt), providerId }
      const { row, secret } = await createOperatorKey(
        ports,
        { ...named, credential },
        {
          caller: request.caller,
          auditContext: auditContextOf(request),
        },
      )
      return { ...toOperatorView(row, request), secret }
    },
    enableOperatorApiKey: (request) => changeOperator(request, 'enable'),
    disableOperatorApiKey: (request) => changeOperator(request, 'disable'),
    deleteOperatorApiKey: (request) => changeOperator(request, 'delete'),
  })
}

function toApiKeyQuery({
  apiKeyStatus: status,
  keyPrefix: prefix,
  startTime,
  endTime,
  ...paging
}: Omit<Request<typeof contract.listApiKeys>['query'], 'keyPrefix'> & { keyPrefix?: string | undefined }) {
  return {
    ...paging,
    status,
    prefix,
    ...parseInterval({ startTime, endTime }),
  }
}

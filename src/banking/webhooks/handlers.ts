import { readableEvents } from '../../contract/events/readers.ts'
import {
  bizId,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  invalid,
  mapPage,
  parseInstant,
  parseInterval,
  type Request,
  type RequestContext,
  toIsoOrNull,
  type Words,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import type { DeliveryRow } from './delivery-store.ts'
import { receiverOf } from './notices.ts'
import { readerOf, type WebhookCommand } from './rules.ts'
import {
  changeWebhookStatus,
  createWebhook,
  decideOnWebhook,
  listDeliveries,
  readWebhook,
  replayEvents,
  resendDelivery,
  rotateSecret,
  testWebhook,
  updateWebhook,
  type WebhookContext,
  type WebhookServicePorts,
} from './service.ts'
import { listWebhooks, type Scope, type WebhookRow } from './store.ts'
import { toDeliveryView, toWebhookView } from './view.ts'

export type HandlerPorts = WebhookServicePorts & { words: Words }

/** A request on the chain of members, or on that of operators, which has no workspace. */
type Received = RequestContext & { caller: Caller; workspace: WorkspaceAccess | null }
type Body<Operation extends keyof typeof contract> = Request<
  Extract<(typeof contract)[Operation], { path: string }>
>['body']

export function createHandlers(ports: HandlerPorts): HandlerTable {
  const { words, database } = ports
  const toView = (row: WebhookRow, { locale }: RequestContext) => toWebhookView(words, row, locale)
  /** The rest of the URL of members can contain a secret. */
  const toOperatorView = (row: WebhookRow, request: RequestContext) =>
    toView(row.workspaceBizId === null ? row : { ...row, url: receiverOf(row.url) }, request)
  const toDelivery = (row: DeliveryRow, { locale }: RequestContext) => toDeliveryView(words, row, locale)

  const create = async (request: Received & { body: Body<'createWebhook'> }) => {
    const { url, eventTypes, description = '' } = request.body
    const { row, secret } = await createWebhook(ports, { url, eventTypes, description }, contextOf(request))
    return { ...toView(row, request), secret }
  }
  const update = async (request: Received & { body: Body<'updateWebhook'> }) => {
    const { webhookBizId, ...changes } = request.body
    return toView(await updateWebhook(ports, { id: bizId(webhookBizId), ...changes }, contextOf(request)), request)
  }
  const rotate = async (request: Received & { body: Body<'rotateWebhookSecret'> }) => {
    const { row, secret } = await rotateSecret(ports, bizId(request.body.webhookBizId), contextOf(request))
    return { ...toView(row, request), secret }
  }
  const changeStatus = async (request: Received & { body: Body<'enableWebhook'> }, command: WebhookCommand) => {
    const input = { id: bizId<'webhook'>(request.body.webhookBizId), command }
    return toView(await changeWebhookStatus(ports, input, contextOf(request)), request)
  }
  const test = async (request: Received & { body: Body<'testWebhook'> }) =>
    toDelivery(await testWebhook(ports, bizId(request.body.webhookBizId), contextOf(request)), request)
  const resend = async (request: Received & { body: Body<'resendDelivery'> }) =>
    toDelivery(await resendDelivery(ports, bizId(request.body.deliveryBizId), contextOf(request)), request)
  const replay = async (request: Received & { body: Body<'replayEvents'> }) => {
    const since = parseInstant(request.body.since)
    if (since === undefined) throw invalid('since')
    const input = { id: bizId<'webhook'>(request.body.webhookBizId), since }
    const { scheduled, nextSince } = await replayEvents(ports, input, contextOf(request))
    return { scheduled, nextSince: toIsoOrNull(nextSince) }
  }
  const deliveries = async (
    request: Request<typeof contract.listAllDeliveries> | Request<typeof contract.listDeliveries>,
    scope: Scope | undefined,
  ) => {
    const { deliveryStatus: status, startTime, endTime, ...paging } = request.query
    const query = { ...paging, status, ...parseInterval({ startTime, endTime }) }
    const webhook = { scope, id: bizId<'webhook'>(request.params.webhook_id) }
    return mapPage(await listDeliveries(ports, webhook, query), (row) => toDelivery(row, request))
  }
  const decide = async (request: Request<typeof contract.disableAnyWebhook>, command: 'disable' | 'enable') => {
    const input = { id: bizId<'webhook'>(request.params.webhook_id), command, reason: request.body.reason }
    return toOperatorView(await decideOnWebhook(ports, input, auditContextOf(request)), request)
  }

  return createHandlerTable(contract, {
    listWebhooks: async (request) => {
      const found = await listWebhooks(database, { ...toQuery(request.query), scope: request.workspace.id })
      return mapPage(found, (row) => toView(row, request))
    },
    listWebhookTypes: async ({ workspace }) =>
      readableEvents(ports.eventTypes, readerOf(workspace.id, workspace.permissions)),
    readWebhook: async (request) =>
      toView(await readWebhook(ports, request.workspace.id, bizId(request.params.webhook_id)), request),
    createWebhook: create,
    updateWebhook: update,
    rotateWebhookSecret: rotate,
    enableWebhook: (request) => changeStatus(request, 'enable'),
    disableWebhook: (request) => changeStatus(request, 'disable'),
    deleteWebhook: (request) => changeStatus(request, 'delete'),
    testWebhook: test,
    listDeliveries: (request) => deliveries(request, request.workspace.id),
    resendDelivery: resend,
    replayEvents: replay,
    listAllWebhooks: async (request) => {
      const { workspaceId, webhookId, ...query } = request.query
      const scope = workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId)
      const id = webhookId === undefined ? undefined : bizId<'webhook'>(webhookId)
      const found = await listWebhooks(database, { ...toQuery(query), scope, id })
      return mapPage(found, (row) => toOperatorView(row, request))
    },
    listAllDeliveries: (request) => deliveries(request, undefined),
    disableAnyWebhook: (request) => decide(request, 'disable'),
    enableAnyWebhook: (request) => decide(request, 'enable'),
    createPlatformWebhook: create,
    updatePlatformWebhook: update,
    rotatePlatformSecret: rotate,
    enablePlatformWebhook: (request) => changeStatus(request, 'enable'),
    disablePlatformWebhook: (request) => changeStatus(request, 'disable'),
    deletePlatformWebhook: (request) => changeStatus(request, 'delete'),
    testPlatformWebhook: test,
    resendPlatformDelivery: resend,
    replayPlatformEvents: replay,
  })
}

type ListQuery = Request<typeof contract.listWebhooks>['query']

function toQuery({ webhookStatus: status, startTime, endTime, ...paging }: ListQuery) {
  return { ...paging, status, ...parseInterval({ startTime, endTime }) }
}

function contextOf(request: Received): WebhookContext {
  return { caller: request.caller, auditContext: auditContextOf(request), access: request.workspace }
}

import {
  assertFound,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  type RequestContext,
} from '../../kernel/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import { type CommandContext, type ProvisioningPorts, providerOf } from './command.ts'
import * as contract from './contract.ts'
import { type GroupRow, groupById, listGroups, membersOf } from './group-store.ts'
import { createGroup, patchOfGroup, removeGroup, replaceGroup } from './groups.ts'
import { createPerson, deletePerson, patchOfPerson, replacePerson } from './people.ts'
import { resourceTypes, schemas, serviceProviderConfig } from './scim/discovery.ts'
import { listPeople, personById } from './store.ts'
import { assertSupported, includes, type Selection, toGroup, toList, toSelection, toSlice, toUser } from './view.ts'

export function createHandlers(ports: ProvisioningPorts): HandlerTable {
  const { database } = ports
  const viewsOf = async (rows: readonly GroupRow[], selection: Selection) => {
    const ids = rows.map(({ id }) => id)
    const members = ids.length > 0 && includes(selection, 'members') ? await membersOf(database, ids) : null
    return rows.map((row) => {
      const own = members?.filter(({ groupId }) => groupId === row.id) ?? null
      return toGroup(row, own, selection)
    })
  }
  const viewOf = async (row: GroupRow, selection: Selection) => {
    const [view] = await viewsOf([row], selection)
    return assertFound(view, 'no such group of the provider')
  }
  return createHandlerTable(contract, {
    listScimUsers: async ({ query, caller }) => {
      const { startIndex, ...slice } = toSlice(query)
      const selection = toSelection(query)
      const { id } = await providerOf(ports, caller)
      const { rows, total } = assertSupported(await listPeople(database, id, slice))
      return toList(
        rows.map((row) => toUser(row, selection)),
        { total, startIndex },
      )
    },
    createScimUser: async (request) => {
      const selection = toSelection(request.query)
      return toUser(await createPerson(ports, request.body, contextOf(request)), selection)
    },
    readScimUser: async ({ query, params, caller }) => {
      const provider = await providerOf(ports, caller)
      const row = assertFound(await personById(database, provider.id, params.id), 'no such person of the provider')
      return toUser(row, toSelection(query))
    },
    replaceScimUser: async (request) => {
      const selection = toSelection(request.query)
      const change = { id: request.params.id, body: request.body }
      return toUser(await replacePerson(ports, change, contextOf(request)), selection)
    },
    patchScimUser: async (request) => {
      const selection = toSelection(request.query)
      const change = { id: request.params.id, operations: request.body.Operations }
      return toUser(await patchOfPerson(ports, change, contextOf(request)), selection)
    },
    deleteScimUser: async (request) => {
      await deletePerson(ports, request.params.id, contextOf(request))
      return null
    },
    listScimGroups: async ({ query, caller }) => {
      const { startIndex, ...slice } = toSlice(query)
      const selection = toSelection(query)
      const { id } = await providerOf(ports, caller)
      const { rows, total } = assertSupported(await listGroups(database, id, slice))
      return toList(await viewsOf(rows, selection), { total, startIndex })
    },
    createScimGroup: async (request) => {
      const selection = toSelection(request.query)
      return viewOf(await createGroup(ports, request.body, contextOf(request)), selection)
    },
    readScimGroup: async ({ query, params, caller }) => {
      const selection = toSelection(query)
      const provider = await providerOf(ports, caller)
      const row = assertFound(await groupById(database, provider.id, params.id), 'no such group of the provider')
      return viewOf(row, selection)
    },
    replaceScimGroup: async (request) => {
      const selection = toSelection(request.query)
      const change = { id: request.params.id, body: request.body }
      return viewOf(await replaceGroup(ports, change, contextOf(request)), selection)
    },
    patchScimGroup: async (request) => {
      const change = { id: request.params.id, operations: request.body.Operations }
      await patchOfGroup(ports, change, contextOf(request))
      return null
    },
    deleteScimGroup: async (request) => {
      await removeGroup(ports, request.params.id, contextOf(request))
      return null
    },
    readScimConfig: async () => serviceProviderConfig,
    listScimResourceTypes: async () => toList(resourceTypes, { total: resourceTypes.length, startIndex: 1 }),
    listScimSchemas: async () => toList(schemas, { total: schemas.length, startIndex: 1 }),
  })
}

function contextOf(request: RequestContext & { caller: Caller }): CommandContext {
  return { caller: request.caller, auditContext: auditContextOf(request) }
}

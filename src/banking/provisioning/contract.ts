import * as z from 'zod'
import { id, line, nothing } from '../../contract/fields.ts'
import { type Permissions, provisioningPermission } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import {
  Group,
  GroupBody,
  ListResponse,
  PatchBody,
  ServiceProviderConfig,
  User,
  UserBody,
} from '../../contract/scim/schemas.ts'
import { minutes, operation, type RateGroups } from '../../kernel/index.ts'

export const summary = 'Provisioning of operators and their groups by an identity provider, with SCIM 2.0.'

export const permissions = {
  operator: { provisioning: { sortOrder: 1900, actions: ['manage'], powers: ['manage'] } },
} as const satisfies Permissions

/** Entra ID sends up to 25 requests a second. */
export const rateGroups = {
  provisioning: {
    account: { limit: 1_800, windowMs: minutes(1) },
    address: { limit: 3_600, windowMs: minutes(1) },
  },
} as const satisfies RateGroups

export const codes = {
  'PROVISIONING.NOT_UNIQUE': { status: 409 },
  'PROVISIONING.INVALID_FILTER': { status: 400 },
  'PROVISIONING.INVALID_PATH': { status: 400 },
  'PROVISIONING.INVALID_SYNTAX': { status: 400 },
  'PROVISIONING.TOO_MANY': { status: 400 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    provisioning: typeof codes
  }
}

/** Entra ID appends the first one to every URL. The second chooses the attributes of the reply. */
const flags = {
  aadOptscim062020: z.literal('').optional().meta({ description: 'A flag of Entra ID, without effect' }),
}
const attributes = line(1_000).optional().meta({ description: 'Names of attributes, separated by commas' })
const selection = { ...flags, attributes, excludedAttributes: attributes }
const integer = z
  .string()
  .regex(/^-?\d{1,7}$/)
  .transform(Number)
  .pipe(z.int())
const search = z.strictObject({
  ...selection,
  filter: z.string().max(1_000).optional().meta({
    description: 'Comparisons with `eq`, joined by `and`, such as `userName eq "ann@example.com"`',
  }),
  startIndex: integer.optional().meta({ description: 'Position of the first resource. Default: 1.' }),
  count: integer.optional().meta({ description: 'Maximum number of resources. Default and maximum: 100.' }),
})

const policy = {
  ...operator,
  permission: provisioningPermission,
  channel: 'none',
  rate: 'provisioning',
} as const
const scim = { chains: ['systemApi'], protocol: 'scim' } as const
const read = { ...scim, method: 'GET', policy, query: z.strictObject(selection), body: 'none' } as const
const list = { ...read, query: search, refuses: ['PROVISIONING.INVALID_FILTER'] } as const
const command = { ...scim, policy, query: z.strictObject(selection) } as const

/** A change of rights: a removal is done, and an addition waits for an operator. */
const regrouped = [
  ...(['operator.permissions_changed', 'proposal.done', 'proposal.pending'] as const),
  ...(['proposal.cancelled', 'proposal.expired'] as const),
] as const
const provisioned = ['account.active', 'account.suspended', 'session.ended', ...regrouped] as const

/** The SCIM id of a person is the id of the account. */
const param = { id }
const malformed = { malformedBody: 'PROVISIONING.INVALID_SYNTAX' } as const
const values = ['PROVISIONING.NOT_UNIQUE', 'PROVISIONING.INVALID_SYNTAX', 'STATE.CONFLICT'] as const
const paths = ['PROVISIONING.INVALID_PATH', 'PROVISIONING.TOO_MANY'] as const

export const listScimUsers = operation({
  ...list,
  id: 'provisioning.listUsers',
  path: '/scim/v2/Users',
  summary: 'List the people of an identity provider',
  reply: ListResponse(User),
})

export const createScimUser = operation({
  ...command,
  ...malformed,
  id: 'provisioning.createUser',
  method: 'POST',
  path: '/scim/v2/Users',
  summary: 'Create an operator without permissions',
  description:
    'The first sign-in through the identity provider finds the account by `externalId`. A person who was deleted with the same `externalId` becomes active again.',
  emits: provisioned,
  body: UserBody,
  reply: User,
  refuses: [...values, 'PROVISIONING.TOO_MANY'],
})

export const readScimUser = operation({
  ...read,
  id: 'provisioning.readUser',
  path: '/scim/v2/Users/{id}',
  params: param,
  summary: 'Read a person of an identity provider',
  reply: User,
  refuses: ['RESOURCE.NOT_FOUND'],
})

const changeUser = {
  ...command,
  ...malformed,
  path: '/scim/v2/Users/{id}',
  params: param,
  emits: provisioned,
  reply: User,
  refuses: ['RESOURCE.NOT_FOUND', ...values, ...paths],
} as const

export const replaceScimUser = operation({
  ...changeUser,
  id: 'provisioning.replaceUser',
  method: 'PUT',
  summary: 'Replace the attributes of a person',
  description:
    '`active: false` suspends the account, ends its sessions and removes its permissions. With `active: true` it has none until operators grant them again. A new address or `externalId` removes them, too.',
  body: UserBody,
})

export const patchScimUser = operation({
  ...changeUser,
  id: 'provisioning.patchUser',
  method: 'PATCH',
  summary: 'Change attributes of a person',
  body: PatchBody,
})

export const deleteScimUser = operation({
  ...changeUser,
  id: 'provisioning.deleteUser',
  method: 'DELETE',
  summary: 'Suspend the account of a person',
  description: 'As `active: false`. Accounts are never deleted, because orders and the audit log refer to them.',
  body: 'none',
  reply: nothing,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

export const listScimGroups = operation({
  ...list,
  id: 'provisioning.listGroups',
  path: '/scim/v2/Groups',
  summary: 'List the groups of an identity provider',
  reply: ListResponse(Group),
})

export const createScimGroup = operation({
  ...command,
  ...malformed,
  id: 'provisioning.createGroup',
  method: 'POST',
  path: '/scim/v2/Groups',
  summary: 'Create a group',
  description:
    'The setting `groups` of the identity provider gives roles to groups. The permissions of a new member are a proposal, which a second operator confirms.',
  emits: regrouped,
  body: GroupBody,
  reply: Group,
  refuses: [...values, 'PROVISIONING.TOO_MANY'],
})

export const readScimGroup = operation({
  ...read,
  id: 'provisioning.readGroup',
  path: '/scim/v2/Groups/{id}',
  params: param,
  summary: 'Read a group',
  reply: Group,
  refuses: ['RESOURCE.NOT_FOUND'],
})

const changeGroup = {
  ...command,
  ...malformed,
  path: '/scim/v2/Groups/{id}',
  params: param,
  emits: regrouped,
  refuses: ['RESOURCE.NOT_FOUND', ...values, ...paths],
} as const

export const replaceScimGroup = operation({
  ...changeGroup,
  id: 'provisioning.replaceGroup',
  method: 'PUT',
  summary: 'Replace the name and the members of a group',
  body: GroupBody,
  reply: Group,
})

export const patchScimGroup = operation({
  ...changeGroup,
  id: 'provisioning.patchGroup',
  method: 'PATCH',
  summary: 'Change the name or members of a group',
  description: 'The reply has no body, because a group can have many members.',
  body: PatchBody,
  reply: nothing,
})

export const deleteScimGroup = operation({
  ...changeGroup,
  id: 'provisioning.deleteGroup',
  method: 'DELETE',
  summary: 'Delete a group',
  body: 'none',
  reply: nothing,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

const discovery = { ...read, refuses: [] } as const

export const readScimConfig = operation({
  ...discovery,
  id: 'provisioning.readConfig',
  path: '/scim/v2/ServiceProviderConfig',
  summary: 'Read which parts of SCIM are supported',
  reply: ServiceProviderConfig,
})

/** Descriptions for programs, which have no fixed shape. */
const Description = z.looseObject({ id: z.string() })

export const listScimResourceTypes = operation({
  ...discovery,
  id: 'provisioning.listResourceTypes',
  path: '/scim/v2/ResourceTypes',
  summary: 'List the types of resources',
  reply: ListResponse(Description),
})

export const listScimSchemas = operation({
  ...discovery,
  id: 'provisioning.listSchemas',
  path: '/scim/v2/Schemas',
  summary: 'List the schemas of the resources',
  reply: ListResponse(Description),
})

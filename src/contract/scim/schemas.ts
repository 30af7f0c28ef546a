import * as z from 'zod'
import { bizId, line, timestamp } from '../fields.ts'

/*
 * The resources and messages of SCIM 2.0 (RFC 7643 and 7644) that Entra ID and Okta use. Requests may have further
 * attributes, which are ignored (RFC 7644, 3.3).
 */

export const urn = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  config: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  resourceType: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
} as const

/** Maximum number of members in a request. */
export const maxMembers = 1_000

/** Maximum number of operations in a PATCH. */
const maxOperations = 100

const schemas = z.array(z.string().max(256)).max(20).optional()
const value = line(256)

/** Entra ID sends texts such as `"False"`. */
const flag = z
  .union([z.boolean(), z.string().regex(/^(true|false)$/i)])
  .transform((sent) => String(sent).toLowerCase() === 'true')
  .pipe(z.boolean())

export const Name = z.looseObject({
  formatted: value.nullish(),
  givenName: value.nullish(),
  familyName: value.nullish(),
})

export const Email = z.looseObject({
  value: z.string().max(320),
  type: z.string().max(64).nullish(),
  primary: flag.nullish(),
})

export const UserBody = z.looseObject({
  schemas,
  userName: value,
  externalId: value.nullish(),
  name: Name.nullish(),
  displayName: value.nullish(),
  emails: z.array(Email).max(20).nullish(),
  active: flag.nullish(),
})
export type UserBody = z.output<typeof UserBody>

export const Member = z.looseObject({ value: z.string().max(64) })

export const GroupBody = z.looseObject({
  schemas,
  displayName: value,
  externalId: value.nullish(),
  members: z.array(Member).max(maxMembers).nullish(),
})
export type GroupBody = z.output<typeof GroupBody>

export const PatchOperation = z.looseObject({
  op: z.string().max(16).meta({ description: '`add`, `replace` or `remove`, in any case' }),
  path: z.string().max(512).nullish(),
  value: z.unknown().optional(),
})
export type PatchOperation = z.output<typeof PatchOperation>

export const PatchBody = z.looseObject({ schemas, Operations: z.array(PatchOperation).min(1).max(maxOperations) })

const meta = z.object({
  resourceType: z.string(),
  created: timestamp,
  lastModified: timestamp,
  location: z.string().meta({ description: 'Path of the resource' }),
})

/** Attributes can be missing, because requests can exclude them. */
export const User = z.object({
  schemas: z.array(z.string()),
  id: bizId.meta({ description: 'The id of the account' }),
  externalId: z.string().optional(),
  userName: z.string().optional(),
  name: z
    .object({ formatted: z.string().optional(), givenName: z.string().optional(), familyName: z.string().optional() })
    .optional(),
  displayName: z.string().optional(),
  emails: z.array(z.object({ value: z.string(), type: z.string(), primary: z.boolean() })).optional(),
  active: z.boolean().optional().meta({ description: 'Whether the account is active' }),
  meta: meta.optional(),
})
export type User = z.input<typeof User>

export const Group = z.object({
  schemas: z.array(z.string()),
  id: bizId,
  externalId: z.string().optional(),
  displayName: z.string().optional(),
  members: z.array(z.object({ value: bizId, display: z.string(), type: z.string() })).optional(),
  meta: meta.optional(),
})
export type Group = z.input<typeof Group>

export function ListResponse<T extends z.ZodType>(resource: T) {
  return z.object({
    schemas: z.array(z.string()),
    totalResults: z.int(),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(resource),
  })
}

const supported = z.object({ supported: z.boolean() })

export const ServiceProviderConfig = z.object({
  schemas: z.array(z.string()),
  patch: supported,
  bulk: supported.extend({ maxOperations: z.int(), maxPayloadSize: z.int() }),
  filter: supported.extend({ maxResults: z.int() }),
  changePassword: supported,
  sort: supported,
  etag: supported,
  authenticationSchemes: z.array(z.object({ type: z.string(), name: z.string(), description: z.string() })),
  meta: z.object({ resourceType: z.string(), location: z.string() }),
})

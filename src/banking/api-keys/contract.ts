import * as z from 'zod'
import { addressRange } from '../../contract/account-fields.ts'
import { statusEvents } from '../../contract/events/event.ts'
import {
  bizId,
  coded,
  codeOf,
  id,
  instant,
  line,
  reason,
  timestamp,
  uniqueList,
  workspaceFilters,
} from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'

import { type Permissions, permissionCodes } from '../../contract/permissions.ts'
import { member, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

export const summary = 'API keys, which authenticate machines on the API chain.'

export const permissions = {
  workspace: { 'api-key': { sortOrder: 500, actions: ['read', 'manage'], peopleOnly: ['manage'], powers: ['manage'] } },
  operator: {
    'api-key': { sortOrder: 1500, actions: ['end'], powers: ['end'] },
    'operator-key': { sortOrder: 1800, actions: ['read', 'manage'], powers: ['manage'] },
  },
} as const satisfies Permissions

export const apiKeyStatus = codedFamily('apiKeyStatus', {
  ACTIVE: 10091201,
  DISABLED: 10091202,
  EXPIRED: 10091203,
  DELETED: 10091204,
  SUSPENDED: 10091205,
})
export type ApiKeyStatus = CodeOf<typeof apiKeyStatus>

export const apiKeyCredential = codedFamily('apiKeyCredential', {
  SECRET: 10092301,
  JWT: 10092302,
  TLS: 10092303,
})
export type ApiKeyCredential = CodeOf<typeof apiKeyCredential>

const ApiKey = z.object({
  bizId,
  workspaceBizId: bizId,
  apiKeyName: z.string(),
  keyPrefix: z.string(),
  keyLast4: z.string(),
  credential: coded(apiKeyCredential),
  credentialThumbprint: z.string().nullable().meta({
    description: 'SHA-256 of the public key (RFC 7638) or the certificate',
  }),
  apiKeyStatus: coded(apiKeyStatus),
  permissionCodes: z.array(z.string()),
  ipAllowlist: z.array(z.string()),
  expiresAt: timestamp.nullable(),
  expiresSoon: z.boolean().meta({ description: 'Whether the key expires within 30 days' }),
  lastUsedAt: timestamp.nullable(),
  lastUsedIp: z.string().nullable(),
  createdBy: bizId,
  createdAt: timestamp,
  updatedAt: timestamp,
})

/** A key past `expiresAt` is EXPIRED without a change of its row, and so without an event. */
export const events = statusEvents(
  'api_key',
  apiKeyStatus.codes.filter((status) => status !== 'EXPIRED'),
  {
    object: 'An API key',
    data: ApiKey,
    audience: 'workspace',
    permission: 'api-key:read',
    operatorPermission: 'api-key:end',
  },
)

declare global {
  interface PorticoEvents {
    apiKeys: typeof events
  }
}

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/)

/** RFC 7517. The service checks the members that belong to `kty`. */
const publicKey = z
  .strictObject({
    kty: z.enum(['EC', 'OKP', 'RSA']),
    crv: z.enum(['P-256', 'Ed25519']).optional(),
    x: base64url.max(64).optional(),
    y: base64url.max(64).optional(),
    n: base64url.max(1_024).optional(),
    e: base64url.max(8).optional(),
    alg: z.enum(['ES256', 'EdDSA', 'Ed25519', 'PS256', 'RS256']).optional(),
    use: z.literal('sig').optional(),
    kid: line(128).optional(),
  })
  .meta({
    description:
      'JWK (P-256, Ed25519, RSA with 2048 to 4096 bits) whose private key signs each request, instead of a secret',
  })

const certificateThumbprint = z
  .string()
  .regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/)
  .meta({
    description: '`x5t#S256` (RFC 8705) of the client certificate, instead of a secret',
  })

const credentials = { publicKey: publicKey.optional(), certificateThumbprint: certificateThumbprint.optional() }

/** Null unless the key has a secret. */
const secret = z.string().nullable().meta({ description: 'Null for a key with a public key or a certificate' })

const ApiKeyRequest = z.strictObject({
  apiKeyName: line(64),
  permissionCodes: permissionCodes('apiKeyPermissions', 1),
  ipAllowlist: uniqueList(addressRange, 64).optional().meta({
    description:
      'Addresses from which the key works. With `access.apiKeys.addressList: replace`, they replace the IP whitelist of the account.',
  }),
  expiresAt: instant.optional(),
  ...credentials,
})

/** The pattern rejects the secret part, because a secret must not appear in a URL. */
const keyPrefix = z
  .string()
  .regex(/^ptk_[0-9a-f]{0,12}$/)
  .meta({ examples: ['ptk_3f9a'] })

const filters = { apiKeyStatus: codeOf(apiKeyStatus).optional(), keyPrefix: keyPrefix.optional() }

const reading = { ...member, workspace: 'required', permission: 'api-key:read' } as const
const managing = { ...member, workspace: 'required', permission: 'api-key:manage', changesRights: true } as const
const get = { method: 'GET', chains: ['consumer'], policy: reading, body: 'none' } as const
const command = {
  method: 'POST',
  chains: ['consumer'],
  policy: { ...managing, stepUp: 'maybe' },
  confirms: ['apiKeyBizId'],
  body: z.strictObject({ apiKeyBizId: id }),
  reply: ApiKey,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const listApiKeys = operation({
  ...get,
  id: 'apiKeys.list',
  path: '/api-keys',
  summary: 'List the API keys of a workspace',
  policy: { ...reading, workspace: 'optional' },
  query: listQuery(['createdAt', 'updatedAt'], filters),
  reply: page(ApiKey),
  refuses: [],
})

export const listApiKeyPermissions = operation({
  ...get,
  id: 'apiKeys.availablePermissions',
  path: '/api-keys/available-permissions',
  summary: 'List the permissions that the caller can grant to API keys',
  reply: z.array(z.string()),
  refuses: [],
})

export const readApiKey = operation({
  ...get,
  id: 'apiKeys.read',
  path: '/api-keys/{api_key_id}',
  summary: 'Read an API key',
  reply: ApiKey,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const createApiKey = operation({
  ...command,
  id: 'apiKeys.create',
  path: '/api-keys',
  emits: ['api_key.active'],
  summary: 'Create an API key and return its secret once',
  policy: { ...managing, workspace: 'optional', stepUp: true },
  confirms: ['apiKeyName', 'permissionCodes', 'ipAllowlist', 'expiresAt', 'publicKey', 'certificateThumbprint'],
  body: ApiKeyRequest,
  reply: ApiKey.extend({
    secret,
    replacesIpWhitelist: z.boolean().meta({
      description:
        'Whether the key works from its own addresses, even if the IP whitelist of the account excludes them',
    }),
  }),
  refuses: ['STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

export const enableApiKey = operation({
  ...command,
  id: 'apiKeys.enable',
  path: '/api-keys/enable',
  emits: ['api_key.active'],
  summary: 'Enable a disabled or suspended API key',
  policy: { ...managing, stepUp: true },
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'ACCESS.PAYOUT_HOLD'],
})

export const disableApiKey = operation({
  ...command,
  id: 'apiKeys.disable',
  path: '/api-keys/disable',
  emits: ['api_key.disabled'],
  summary: 'Disable an API key',
})

export const deleteApiKey = operation({
  ...command,
  id: 'apiKeys.delete',
  path: '/api-keys/delete',
  emits: ['api_key.deleted'],
  summary: 'Delete an API key permanently',
})

export const listAllApiKeys = operation({
  id: 'apiKeys.listAll',
  method: 'GET',
  path: '/api-keys',
  chains: ['system'],
  summary: 'List the API keys of all workspaces',
  policy: { ...operator, permission: 'api-key:end' },
  query: listQuery(['createdAt', 'updatedAt'], {
    ...filters,
    workspaceId: workspaceFilters.workspaceId,
    createdBy: id.optional(),
  }),
  body: 'none',
  reply: page(ApiKey),
  refuses: [],
})

const ending = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'api-key:end', stepUp: true, changesRights: true },
  body: z.strictObject({ reason }),
  reply: ApiKey,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const disableAnyApiKey = operation({
  ...ending,
  id: 'apiKeys.disableAny',
  path: '/api-keys/{api_key_id}/disable',
  emits: disableApiKey.emits,
  summary: 'Disable an API key of any workspace',
})

export const enableAnyApiKey = operation({
  ...ending,
  id: 'apiKeys.enableAny',
  path: '/api-keys/{api_key_id}/enable',
  emits: enableApiKey.emits,
  summary: 'Enable an API key that an operator disabled',
})

export const deleteAnyApiKey = operation({
  ...ending,
  id: 'apiKeys.deleteAny',
  path: '/api-keys/{api_key_id}/delete',
  emits: deleteApiKey.emits,
  summary: 'Delete an API key of any workspace permanently',
})

const OperatorApiKey = ApiKey.omit({ workspaceBizId: true }).extend({
  providerId: z.string().nullable().meta({ description: 'The identity provider for which the key provisions people' }),
})

const manageOperatorKeys = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'operator-key:manage', stepUp: true },
  reply: OperatorApiKey,
} as const
const changeOperatorKey = {
  ...manageOperatorKeys,
  body: z.strictObject({ reason }),
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const listOperatorApiKeys = operation({
  id: 'apiKeys.listOfOperators',
  method: 'GET',
  path: '/operator-api-keys',
  chains: ['system'],
  summary: 'List the API keys of operators',
  policy: { ...operator, permission: 'operator-key:read' },
  query: listQuery(['createdAt', 'updatedAt'], { apiKeyStatus: filters.apiKeyStatus }),
  body: 'none',
  reply: page(OperatorApiKey),
  refuses: [],
})

export const createOperatorApiKey = operation({
  ...manageOperatorKeys,
  id: 'apiKeys.createForOperators',
  path: '/operator-api-keys',
  summary: 'Create an API key of operators',
  description:
    'Returns the secret once. The key is disabled until another operator enables it. It works on `/api/v1/system`, with those of its permissions that its creator still has. A key with `provisioning:manage` provisions the people of one identity provider with SCIM, and has no other permission.',
  confirms: [
    'apiKeyName',
    'permissionCodes',
    'ipAllowlist',
    'expiresAt',
    'publicKey',
    'certificateThumbprint',
    'providerId',
  ],
  body: ApiKeyRequest.extend({
    permissionCodes: permissionCodes('operatorKeyPermissions', 1),
    expiresAt: instant.meta({ description: 'At most 365 days from now' }),
    providerId: line(32).optional().meta({
      description:
        'Id of an identity provider of the SYSTEM portal. Required with `provisioning:manage`, else refused.',
    }),
  }),
  reply: OperatorApiKey.extend({ secret }),
  refuses: ['STATE.CONFLICT'],
})

export const enableOperatorApiKey = operation({
  ...changeOperatorKey,
  id: 'apiKeys.enableOfOperators',
  path: '/operator-api-keys/{api_key_id}/enable',
  summary: 'Enable an API key that another operator created',
})

export const disableOperatorApiKey = operation({
  ...changeOperatorKey,
  id: 'apiKeys.disableOfOperators',
  path: '/operator-api-keys/{api_key_id}/disable',
  summary: 'Disable an API key of operators',
})

export const deleteOperatorApiKey = operation({
  ...changeOperatorKey,
  id: 'apiKeys.deleteOfOperators',
  path: '/operator-api-keys/{api_key_id}/delete',
  summary: 'Delete an API key of operators permanently',
})
